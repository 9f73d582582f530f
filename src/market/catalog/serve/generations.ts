/** What was used lately, in two generations that have half of the room each: when the younger is full, the older is forgotten. */
export interface Generations<K, V> {
  /** Used now. */
  get(key: K): V | undefined;
  /** Used now, and as large as it is now. */
  put(key: K, value: V): void;
  /** Whoever deletes knows it: it is not forgotten. */
  delete(key: K): void;
  /** Forgets until what is left fits into what there is room for now. */
  trim(): void;
  clear(): void;
  bytes(): number;
}

export interface GenerationsOptions<K, V> {
  /** May change. */
  mostBytes(): number;
  sizeOf(key: K, value: V): number;
  /** It is not counted any more. */
  forget(value: V, key: K): void;
}

interface Generation<K, V> {
  readonly members: Map<K, { value: V; size: number }>;
  bytes: number;
}

export function createGenerations<K, V>({ mostBytes, sizeOf, forget }: GenerationsOptions<K, V>): Generations<K, V> {
  let young: Generation<K, V> = { members: new Map(), bytes: 0 };
  let old: Generation<K, V> = { members: new Map(), bytes: 0 };

  const forgetOld = (): void => {
    const forgotten = old.members;
    old = { members: new Map(), bytes: 0 };
    for (const [key, { value }] of forgotten) forget(value, key);
  };
  const remove = (key: K): V | undefined => {
    const generation = young.members.has(key) ? young : old;
    const member = generation.members.get(key);
    if (member === undefined) return undefined;
    generation.members.delete(key);
    generation.bytes -= member.size;
    return member.value;
  };
  const put = (key: K, value: V): void => {
    const before = remove(key);
    if (before !== undefined && before !== value) forget(before, key);
    const size = sizeOf(key, value);
    const most = mostBytes();
    if (young.bytes + size > most / 2) {
      forgetOld();
      [old, young] = [young, { members: new Map(), bytes: 0 }];
    }
    young.members.set(key, { value, size });
    young.bytes += size;
    // One that is larger than the room is the only one, and goes with the next.
    if (young.bytes + old.bytes > most) forgetOld();
  };

  return {
    get: (key) => {
      const member = young.members.get(key);
      if (member !== undefined) return member.value;
      const aged = old.members.get(key)?.value;
      if (aged !== undefined) put(key, aged);
      return aged;
    },
    put,
    delete: (key) => {
      remove(key);
    },
    trim: () => {
      if (young.bytes + old.bytes > mostBytes()) forgetOld();
      if (young.bytes > mostBytes()) {
        [old, young] = [young, old];
        forgetOld();
      }
    },
    clear: () => {
      forgetOld();
      [old, young] = [young, old];
      forgetOld();
    },
    bytes: () => young.bytes + old.bytes,
  };
}
