// The globals core may use besides those of the language: pure functions of their argument. See tsconfig.json beside it.
declare function structuredClone<Value>(value: Value): Value;
declare class TextEncoder {
  encode(text: string): Uint8Array;
}
