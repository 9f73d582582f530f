import { openWire, type Wire, type WireAnswer } from './wire.ts';

/** Keep-alive connections. A request uses a free one, or else a new one. */
export interface WirePool {
  ask(request: Buffer): Promise<WireAnswer>;
  close(): void;
}

export async function createWirePool(url: string, opened: number): Promise<WirePool> {
  const open = (): Promise<Wire> => openWire(url, { keepBody: true });
  const all = await Promise.all(Array.from({ length: opened }, open));
  const free = [...all];
  return {
    ask: async (request) => {
      let wire = free.pop();
      if (wire === undefined) {
        wire = await open();
        all.push(wire);
      }
      const answer = await wire.ask(request);
      free.push(wire);
      return answer;
    },
    close: () => {
      for (const wire of all) wire.close();
    },
  };
}
