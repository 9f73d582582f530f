interface Item {
  id?: unknown;
  method?: unknown;
}

/** The calls of one JSON-RPC body, which is one call or a batch. */
export interface Calls {
  batch: boolean;
  length: number;
  items: readonly Item[];
}

export function readCalls(body: Buffer): Calls {
  const parsed: unknown = JSON.parse(body.toString());
  const items = (Array.isArray(parsed) ? parsed : [parsed]) as Item[];
  return { batch: Array.isArray(parsed), length: items.length, items };
}

/** Returns the bytes of each call, request and answer together. Matches the answers of a batch by id, because they come in any order. */
export function sizesByMethod(calls: Calls, asked: Buffer, answer: Buffer): { method: string; bytes: number }[] {
  const [only] = calls.items;
  if (!calls.batch && only !== undefined) return [{ method: String(only.method), bytes: asked.length + answer.length }];
  const answers = new Map<unknown, number>();
  for (const item of answersOf(answer)) answers.set(item.id, lengthOf(item));
  return calls.items.map((item) => ({
    method: String(item.method),
    bytes: lengthOf(item) + (answers.get(item.id) ?? 0),
  }));
}

/** Returns the items of an answer. A batch may be refused as a whole. */
function answersOf(answer: Buffer): Item[] {
  const parsed: unknown = JSON.parse(answer.toString());
  return Array.isArray(parsed) ? (parsed as Item[]) : [];
}

function lengthOf(item: Item): number {
  return Buffer.byteLength(JSON.stringify(item));
}
