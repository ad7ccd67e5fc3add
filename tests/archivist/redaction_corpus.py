"""Secrets that must go, and texts that must stay as they are.

Secrets are put together from pieces here, so that no scanner of secrets takes these files for a leak.
"""

from __future__ import annotations

import base64
import string
from collections.abc import Callable
from random import Random

ALNUM = string.ascii_letters + string.digits
URL_SAFE = ALNUM + "_-"
HOMES = ("/home/al", "/home/al/work", "/root", "C:\\Users\\al")


def dice(seed: int) -> Random:
    """Give draws that repeat."""
    return Random(seed)  # noqa: S311


def some(rng: Random, alphabet: str, count: int) -> str:
    """Draw letters."""
    return "".join(rng.choices(alphabet, k=count))


def key_block(rng: Random, label: str = "RSA ", lines: int = 12) -> str:
    """Write a PEM private key: full lines of 64 letters, and a last one that is shorter."""
    body = [some(rng, ALNUM + "+/", 64) for _ in range(lines)] + [some(rng, ALNUM, 21) + "Q=="]
    dashes = "-" * 5
    begin, end = (f"{dashes}{side} {label}PRIVATE KEY{dashes}" for side in ("BEGIN", "END"))
    return "\n".join([begin, *body, end])


def web_token(rng: Random) -> str:
    """Write a JSON web token."""
    parts = ('{"alg":"HS256","typ":"JWT"}', f'{{"sub":"{rng.getrandbits(40)}","admin":true}}')
    head, body = (base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts)
    return f"{head}.{body}.{some(rng, URL_SAFE, 43)}"


TOKENS: dict[str, Callable[[Random], str]] = {
    "aws access key": lambda rng: "AK" + "IA" + some(rng, string.ascii_uppercase + string.digits, 16),
    "aws temporary key": lambda rng: "AS" + "IA" + some(rng, string.ascii_uppercase + string.digits, 16),
    "github": lambda rng: f"gh{rng.choice('oprsu')}_" + some(rng, ALNUM, 36),
    "github fine-grained": lambda rng: "github" + "_pat_" + some(rng, ALNUM, 22) + "_" + some(rng, ALNUM, 59),
    "gitlab": lambda rng: "glp" + "at-" + some(rng, URL_SAFE, 20),
    "openai": lambda rng: "sk" + "-" + some(rng, ALNUM, 20) + "T3Blb" + "kFJ" + some(rng, ALNUM, 20),
    "openai project": lambda rng: "sk" + "-proj-" + "A7" + some(rng, URL_SAFE, 60),
    "anthropic": lambda rng: "sk" + "-ant-" + some(rng, ALNUM, 32),
    "anthropic api": lambda rng: "sk" + "-ant-api03-" + "Z9" + some(rng, URL_SAFE, 80) + "AA",
    "slack": lambda rng: (
        f"xox{rng.choice('baprs')}-" + some(rng, string.digits, 12) + "-" + some(rng, ALNUM, 24)
    ),
    "google": lambda rng: "AI" + "za" + some(rng, URL_SAFE, 35),
    "npm": lambda rng: "np" + "m_" + some(rng, ALNUM, 36),
    "hugging face": lambda rng: "h" + "f_" + some(rng, string.ascii_letters, 34),
    "web token": web_token,
}
"""What is a secret wherever it stands, by issuer."""


def passphrase(rng: Random) -> str:
    """Draw a value that only its name can give away; no code or template looks like it."""
    return rng.choice(string.ascii_letters) + some(rng, ALNUM + "+/.!@%^~-", rng.randint(7, 30)) + "7"


NAMES = (
    "password",
    "Password",
    "passwd",
    "secret",
    "token",
    "api_key",
    "api-key",
    "apikey",
    "apiKey",
    "X-Api-Key",
    "access_token",
    "accessToken",
    "auth_token",
    "client_secret",
    "clientSecret",
    "DB_PASSWORD",
    "GITHUB_TOKEN",
    "STRIPE_KEY",
    "FTP_PASS",
    "SIGNING_SECRET",
    "my-api-key",
    "dbpassword",
    "aws_secret_access_key",
    "SECRET_KEY_BASE",
)

PROSE = """
see https://jsr.example/package/@angular/core for it
npm install @types/node@20.1.0 from https://host.example/package/@scope/name
clone git@github.com:o/r.git first, or ssh://git@github.com/o/r.git, or git+ssh://git@host.example/o/r.git
https://host.example/?next=/a@b and https://host.example#user:name@place
write to ann@example.org or see https://example.org, bob@example.org answers too
the password: short
Which token: the first? Its key: 7. A secret: no.
call ask-user-question-tool-name next
the task-runner-configuration-of-2026-and-later, a risk-assessment-for-the-desk-0123456789, disk-usage
sk-learn-compatible-estimator-interface and sk-SK are words
commit 9f2c1e7a0b3d4c5e6f708192a3b4c5d6e7f80912 and 4c5e6f7 and
sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
session 550e8400-e29b-41d4-a716-446655440000, request req_011CSHoEeqs5C35K2UUqR7Fy
tool use toolu_01A09q90qw90lq917835lq9
![logo](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO)
tokens: 123456789, max_token = 4096000000, maxToken: 128000000, cost_per_token = 0.00000125
tokenizer: punctuation, tokenization = "byte-pair", secretary: Ms Robinson-Smythe, passage: long-winded
primary_key: customer_identifier, foreignKey: "orders.customer_id", keyboard: mechanical
sort_key = by_date_created
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
a line that begins with -----BEGIN PRIVATE KEY----- is a header.
The scheme is Bearer and the value follows; a bearer of news. Authorization: Bearer <token>, Bearer $API_TOKEN
eyJhbGciOi is how the first part begins; eyJ... and the rest
[REDACTED:secret] and [HOME]/src and password: [REDACTED:secret] and Bearer [REDACTED:token]
the marker `[REDACTED:token]`: somewhere, [REDACTED:private-key]= whatever
[REDACTED:aws-access-key]: everything
/home/alice/x and /home/al-backup and /home/al.old and /srv/root/x and https://host.example/root/x
the option --token selects-a-kind, --password prompts, and --secret is --deprecated-since-forever
private: yes, <privateKey>, </private>, Map<private, public>
"""
CODE = r"""
def login(token: Optional[str] = None, password: SecretStr | None = None) -> Token:
    password = get_password()
    secret: string;
    api_key=os.environ["API_KEY"]
    api_key = os.environ.get('API_KEY')
    token = self.current_token
    token = tokenizer.next_token()
    client = Client(access_token=access_token, client_secret=client_secret)
    const { apiKey: apiKey, accessToken } = options;
    token: process.env.GITHUB_TOKEN,
    password: this.form.value.password,
    secret: z.string().min(8).max(64),
    password: Annotated[str, Depends(password_of)],
    fetch(token: Promise<string>): Observable<Response>
    if (token == Token::StringLiteral || token == TokenKind::Identifier) {
    url = "?token=" + token + "&user=" + user
    print("Password: ", end="")
    raise ValueError(f"bad token={token}&page={page}")
    token=$GITHUB_TOKEN  API_KEY=${API_KEY}  PASSWORD=$(pass show db)
    token: ${{ secrets.GITHUB_TOKEN }}
    api_key: <your-api-key>   "api_key": "{{ api_key }}"   "password": "********"
    {"password": {"description": "the one to log in with", "type": "string"}}
    {"token": null, "secret": true, "max_token": 4096000000}
    {"label": "Password:", "next": "confirmation"}
    for key, value in items: cache_key = (key, value)
    std::token::Identifier, Token::Punctuation
"""
HARMLESS = tuple(line for line in (PROSE + CODE).splitlines() if line)
"""Texts that merely look like secrets: not a character may change."""
