/** The UTF-16 codes of a text, in an array that is used again and again. */
export interface CodeBuffer {
  codes: Uint16Array;
  bytes: Buffer;
}

/** Short texts are copied by hand: a call into the runtime costs more. */
const COPIED_BY_HAND = 24;

export function createCodeBuffer(): CodeBuffer {
  return withRoom(4_096);
}

export function writeCodes(buffer: CodeBuffer, text: string): Uint16Array {
  if (text.length > buffer.codes.length) Object.assign(buffer, withRoom(text.length * 2));
  const { codes } = buffer;
  if (text.length > COPIED_BY_HAND) buffer.bytes.write(text, 'utf16le');
  else for (let at = 0; at < text.length; at += 1) codes[at] = text.charCodeAt(at);
  return codes;
}

function withRoom(length: number): CodeBuffer {
  const codes = new Uint16Array(length);
  return { codes, bytes: Buffer.from(codes.buffer) };
}
