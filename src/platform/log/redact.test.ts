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

  it("shows no password of a URL, and changes nothing the second time", () => {
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
    "set-cookie",
    "credentials",
  ])("hides a field named %s at any depth and of any form", (name) => {
    for (const value of ["hush", ["hush"], { inner: "hush" }, 1234]) {
      expect(through({ a: [{ b: { c: { d: { [name]: value } } } }] })).toEqual({
        a: [{ b: { c: { d: { [name]: "***" } } } }],
      });
    }
  });

  it("keeps what only sounds like a secret, and what is missing", () => {
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
  ])("in texts: %s", (msg, shown) => {
    expect(through({ msg })).toEqual({ msg: shown });
  });

  it("changes no line without secrets, and keeps its end", () => {
    const line = '{"level":"info","a":1.0,"msg":"x"}\n';
    expect(redactLine(line)).toBe(line);
    expect(redactLine('{"token":"a"}\n')).toBe('{"token":"***"}\n');
    expect(redactLine('{"token":"a"}')).toBe('{"token":"***"}');
  });

  it("hides what it can in a line that is not JSON", () => {
    expect(redactLine("https://u:p@h token=abc")).toBe("https://u:***@h token=***");
  });
});
