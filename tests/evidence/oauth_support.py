"""A real authorization server of authlib's in this process: issues tokens with fewer scopes, introspects, revokes."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

# The server is on the loopback interface of a test.
os.environ.setdefault("AUTHLIB_INSECURE_TRANSPORT", "1")

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc7662 import IntrospectionEndpoint
from flask import Flask, jsonify, request
from werkzeug.serving import WSGIRequestHandler, make_server


class Client(ClientMixin):
    def __init__(self, client_id: str, secret: str, allowed: str) -> None:
        self.client_id, self.secret, self.allowed = client_id, secret, allowed

    def get_client_id(self) -> str:
        return self.client_id

    def get_default_redirect_uri(self) -> str:
        return ""

    def get_allowed_scope(self, scope: str) -> str:
        return " ".join(name for name in scope.split() if name in self.allowed.split())

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return False

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == self.secret

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "client_secret_basic"

    def check_response_type(self, response_type: str) -> bool:
        return False

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "password"


class Token(TokenMixin):
    def __init__(self, client: Client, user: str, fields: dict[str, Any], issued: int) -> None:
        self.client, self.user, self.fields, self.issued = client, user, dict(fields), issued
        self.revoked = False

    def check_client(self, client: Any) -> bool:
        return client.client_id == self.client.client_id

    def get_scope(self) -> str:
        return str(self.fields.get("scope", ""))

    def get_expires_in(self) -> int:
        return int(self.fields["expires_in"])

    def is_expired(self) -> bool:
        return False

    def is_revoked(self) -> bool:
        return self.revoked

    def get_user(self) -> str:
        return self.user

    def get_client(self) -> Client:
        return self.client


@dataclass
class OAuthServer:
    """What the tests turn on the running server."""

    url: str = ""
    tokens: dict[str, Token] = field(default_factory=dict)
    clients: dict[str, Client] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    """Path of every request."""
    answer: Any = None
    """Instead of the introspection answer: a body and a status."""
    extra: dict[str, Any] = field(default_factory=lambda: {"aud": "https://tickets.internal"})


NOW = 1_800_000_000


@contextmanager
def running(allowed: str) -> Iterator[OAuthServer]:
    state = OAuthServer()
    state.clients = {
        "agent": Client("agent", "agent-secret", allowed),
        "gate": Client("gate", "gate-secret", ""),
    }
    app = Flask("oauth")

    def save(fields: dict[str, Any], asking: Any) -> None:
        state.tokens[fields["access_token"]] = Token(asking.client, asking.user, fields, NOW)

    server = AuthorizationServer(app, query_client=state.clients.get, save_token=save)

    class Password(grants.ResourceOwnerPasswordCredentialsGrant):
        def authenticate_user(self, username: str, password: str) -> str | None:
            return username if password == "consent" else None

    class Introspect(IntrospectionEndpoint):
        def query_token(self, token_string: str, token_type_hint: str) -> Token | None:
            return state.tokens.get(token_string)

        def check_permission(self, token: Any, client: Any, request: Any) -> bool:
            return bool(client.client_id == "gate")

        def introspect_token(self, token: Token) -> dict[str, Any]:
            claims = {
                "active": not token.revoked,
                "client_id": token.client.client_id,
                "sub": token.user,
                "exp": token.issued + token.get_expires_in(),
                "iss": "https://authorization.internal",
                **state.extra,
            }
            return claims | ({"scope": token.get_scope()} if token.get_scope() else {})

    server.register_grant(Password)
    server.register_endpoint(Introspect)

    @app.post("/token")
    def token() -> Any:
        state.asked.append(request.path)
        return server.create_token_response()

    @app.post("/introspect")
    def introspect() -> Any:
        state.asked.append(request.path)
        if state.answer is not None:
            body, status = state.answer
            return (jsonify(body) if not isinstance(body, bytes) else body), status
        return server.create_endpoint_response("introspection")

    class Quiet(WSGIRequestHandler):
        def log(self, type: str, message: str, *args: Any) -> None:
            pass

    http = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    state.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        http.shutdown()
        thread.join(5)
        http.server_close()
