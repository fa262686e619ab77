import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redactLine, redactText } from "./redact.ts";

describe("redactText: URLs", () => {
  it.each([
    ["https://user:pass@host", "https://user:***@host"],
    ["https://user:pass@host:9090/api?x=1#y", "https://user:***@host:9090/api?x=1#y"],
    ["redis://:pass@host", "redis://:***@host"],
    ["https://user:p@ss@host/", "https://user:***@host/"],
    ["https://user:it's@host", "https://user:***@host"],
    ["https://user:pa/ss@host", "https://user:***@host"],
    ["http://u:p@[::1]:80/", "http://u:***@[::1]:80/"],
    ["http://a:b@h,http://c:d@e", "http://a:***@h,http://c:***@e"],
    ["https://me@corp.example:pass@host/", "https://***@corp.example:***@host/"],
    ["http://ghp_x@h/", "http://***@h/"],
    ["http://ghp_x@h:8080/a@b", "http://***@h:8080/a@b"],
    ["http://h/{node}?token=sekret&api_key=foo", "http://h/{node}?token=***&api_key=***"],
    ["http://h/?node=n1&X-Amz-Signature=abc#y", "http://h/?node=n1&X-Amz-Signature=***#y"],
    [
      "http://h/?key=a&secret=b&sig=c&auth=d&code=e&pwd=f",
      "http://h/?key=***&secret=***&sig=***&auth=***&code=***&pwd=***",
    ],
    ["http://h/cb#access_token=abc", "http://h/cb#access_token=***"],
    ['"{\\"url\\":\\"http://h?sig=abc\\"}"', '"{\\"url\\":\\"http://h?sig=***\\"}"'],
    ["no answer from https://user:pass@host (see logs@home)", "no answer from https://user:***@host (see logs@home)"],
  ])("%s becomes %s", (text, shown) => {
    expect(redactText(text)).toBe(shown);
  });

  it.each([
    "",
    "https://host",
    "https://host:8080/path@version",
    "https://host:80/80?@x",
    "https://host:8080?mail=a@b",
    "http://[::1]:8080/a@b",
    "http://h:80,http://i:81/a@b",
    "https://host/?node=n1&encoding=json&tokens_left=no",
    "file:///node_modules/@scope/x:1:2",
    "mail a:b@c",
  ])("leaves %j alone", (text) => {
    expect(redactText(text)).toBe(text);
  });

  it("redacts the password of any URL and is idempotent", () => {
    const password = fc.stringMatching(/^[A-Za-z0-9!$&'()*+,;=%._~@:-]{1,20}$/).map((text) => `x${text}x`);
    fc.assert(
      fc.property(password, fc.stringMatching(/^[a-z]{1,8}$/), fc.string(), (secret, user, after) => {
        const shown = redactText(`https://${user}:${secret}@example.org/ ${after}`);
        expect(shown.startsWith(`https://${user}:***@example.org/ `)).toBe(true);
        expect(redactText(shown)).toBe(shown);
      }),
    );
  });
});

describe("redactLine", () => {
  const through = (fields: unknown): unknown => JSON.parse(redactLine(`${JSON.stringify(fields)}\n`));

  it.each([
    "token",
    "Token",
    "bindToken",
    "access_token",
    "password",
    "passwd",
    "clientSecret",
    "authorization",
    "Proxy-Authorization",
    "X-Api-Key",
    "privateKey",
    "client-key-data",
    "secretKey",
    "accessKey",
    "aws_secret_access_key",
    "pwd",
    "auth",
    "jwt",
    "set-cookie",
    "credentials",
  ])("redacts a field named %s at any depth and of any type", (name) => {
    for (const value of ["hush", ["hush"], { inner: "hush" }, 1234]) {
      expect(through({ a: [{ b: { c: { d: { [name]: value } } } }] })).toEqual({
        a: [{ b: { c: { d: { [name]: "***" } } } }],
      });
    }
  });

  it("keeps fields that only resemble secrets, and missing values", () => {
    const fields = { secretName: "tls", tokenPath: "/var/run/token", hasToken: true, token: null, key: "cpu", keys: 3 };
    expect(through(fields)).toEqual(fields);
  });

  it.each([
    ["Authorization: Bearer eyJhbGciOiJSUzI1NiJ9.e30.abc==", "Authorization: Bearer ***"],
    ["GET /x?access_token=abc&watch=1", "GET /x?access_token=***&watch=1"],
    ['reply {"token":"abc","kind":"X"}', 'reply {"token":"***","kind":"X"}'],
    ['nested "{\\"token\\":\\"abc\\"}"', 'nested "{\\"token\\":\\"***\\"}"'],
    ["Unexpected token } in JSON", "Unexpected token } in JSON"],
    ["bearer authentication failed", "bearer authentication failed"],
    ['Bearer realm="joulie", error="invalid_token"', 'Bearer realm="joulie", error="invalid_token"'],
    ["invalid bearer token, missing key", "invalid bearer token, missing key"],
    ["cannot read token: ENOENT: no such file", "cannot read token: ENOENT: no such file"],
    ["sent Bearer abc123", "sent Bearer ***"],
    ["sent bearer hush", "sent bearer ***"],
    ["Authorization: Basic dTpw", "Authorization: Basic ***"],
    ["authorization=hush, then", "authorization=*** then"],
    ["curl -H 'Authorization: Bearer abc' http://h", "curl -H 'Authorization: Bearer ***' http://h"],
    ['{"Authorization":"Basic dTpw"}', '{"Authorization":"Basic ***"}'],
    ["token: hush", "token: ***"],
    ["password: eagle: ok", "password: *** ok"],
    ["/cb?code=hush", "/cb?code=***"],
    ["password: hush and more", "password: *** and more"],
    ['password="two words" left', 'password="***" left'],
    ["password='two words' left", "password='***' left"],
    ['{"password":"a\\"b c"}', '{"password":"***"}'],
    ["Server=h;Pwd=hush", "Server=h;Pwd=***"],
    ["X-Api-Key: hush", "X-Api-Key: ***"],
    ["Cookie: a=b; c=d\nHost: h", "Cookie: ***\nHost: h"],
    ["    client-key-data: aHVzaA==\n    user: me", "    client-key-data: ***\n    user: me"],
    ["got eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln today", "got *** today"],
    [
      "-----BEGIN EC PRIVATE KEY-----\naHVzaA==\n-----END EC PRIVATE KEY-----\nafter",
      "-----BEGIN EC PRIVATE KEY-----***-----END EC PRIVATE KEY-----\nafter",
    ],
    ["-----BEGIN PRIVATE KEY-----\naHVza", "-----BEGIN PRIVATE KEY-----***"],
    ["-----BEGIN CERTIFICATE-----\naHVza", "-----BEGIN CERTIFICATE-----\naHVza"],
    ["key: cpu, monkey=1, keyboard: x, secretName: tls", "key: cpu, monkey=1, keyboard: x, secretName: tls"],
  ])("redacts secrets in text: %s", (msg, shown) => {
    expect(through({ msg })).toEqual({ msg: shown });
  });

  it("redacts values that follow a secret name in a list", () => {
    expect(
      through({ rawHeaders: ["Host", "h", "Authorization", "hush", "Accept", "*"], args: ["--token", "hush"] }),
    ).toEqual({
      rawHeaders: ["Host", "h", "Authorization", "***", "Accept", "*"],
      args: ["--token", "***"],
    });
    expect(through({ missing: ["token", "node"] })).toEqual({ missing: ["token", "node"] });
  });

  it("redacts a value in a name/value pair", () => {
    const env = [
      { name: "API_TOKEN", value: "hush" },
      { key: "password", value: { a: "hush" } },
      { name: "NODE", value: "n1" },
    ];
    expect(through({ env })).toEqual({
      env: [
        { name: "API_TOKEN", value: "***" },
        { key: "password", value: "***" },
        { name: "NODE", value: "n1" },
      ],
    });
  });

  it("is idempotent", () => {
    const piece = fc.constantFrom(
      "token",
      "password",
      ": ",
      "=",
      '"',
      "'",
      "\\",
      "Bearer ",
      "authorization",
      "://",
      "@",
      ":",
      "eyJ",
      ".",
      "a",
      "x1",
      " ",
      "\n",
      "?key=",
      "cookie: ",
      "ENOENT: ",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const once = redactText(pieces.join(""));
        expect(redactText(once)).toBe(once);
      }),
    );
  });

  it("redacts long lines in linear time", () => {
    const pieces = [
      "token:",
      "://a:",
      "authorization: ",
      "-----BEGIN PRIVATE KEY-----",
      "eyJaaaaaaaa.",
      'password="',
      "\\",
      "&key",
      "cookie:",
    ];
    for (const piece of pieces) expect(redactText(piece.repeat(200_000 / piece.length)).length).toBeGreaterThan(0);
  });

  it("leaves lines without secrets unchanged, including the line end", () => {
    const line = '{"level":"info","a":1.0,"msg":"x"}\n';
    expect(redactLine(line)).toBe(line);
    expect(redactLine('{"token":"a"}\n')).toBe('{"token":"***"}\n');
    expect(redactLine('{"token":"a"}')).toBe('{"token":"***"}');
  });

  it("redacts secrets in a line that is not JSON", () => {
    expect(redactLine("https://u:p@h token=abc")).toBe("https://u:***@h token=***");
  });
});
