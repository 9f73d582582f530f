/** One message of PostgreSQL's protocol. */
export interface Message {
  /** A letter; empty for the first that a client sends, which has none. */
  type: string;
  /** As it was on the wire. */
  raw: Buffer;
  /** Without type and length. */
  body: Buffer;
}

/** Cuts a stream into messages, however it comes in. */
export function createCutter(from: 'client' | 'server'): (chunk: Buffer) => Message[] {
  let rest: Buffer = Buffer.alloc(0);
  let isFirst = from === 'client';
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const messages: Message[] = [];
    for (;;) {
      const head = isFirst ? 0 : 1;
      if (rest.length < head + 4) return messages;
      const length = head + rest.readUInt32BE(head);
      if (rest.length < length) return messages;
      const raw = rest.subarray(0, length);
      messages.push({ type: raw.toString('latin1', 0, head), raw, body: raw.subarray(head + 4) });
      rest = rest.subarray(length);
      isFirst = false;
    }
  };
}

/** Says which statement a message runs, from the texts that were prepared before; null for every other message. */
export function createStatementReader(): (message: Message) => string | null {
  const prepared = new Map<string, string>();
  return ({ type, body }) => {
    if (type === 'Q') return oneLine(textAt(body, 0).text);
    if (type !== 'P' && type !== 'B') return null;
    const first = textAt(body, 0);
    const second = textAt(body, first.end);
    if (type === 'B') return prepared.get(second.text) ?? null;
    prepared.set(first.text, oneLine(second.text));
    return null;
  };
}

/** What the server says was done. */
export const commandOf = ({ body }: Message): string => textAt(body, 0).text;

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

function textAt(body: Buffer, start: number): { text: string; end: number } {
  const end = body.indexOf(0, start);
  return { text: body.toString('utf8', start, end), end: end + 1 };
}
