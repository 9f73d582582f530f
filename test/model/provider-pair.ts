import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { MarketHost } from './market-host.ts';
import type { ModelChain } from './model-chain.ts';

/** Silence in seconds after which the market ignores a provider. */
const PATIENCE_SECONDS = 62;

/** The market's two providers, which are two connections to one chain. */
export interface ProviderPair {
  urls: [string, string];
  /** Cuts a provider for so long that the market stops waiting for it. `follow` updates the market's clock. */
  cut(nth: 0 | 1, on: { market: MarketHost; chain: ModelChain; follow(): Promise<void> }): Promise<void>;
  mend(market: MarketHost): Promise<void>;
  close(): Promise<void>;
}

export async function openProviderPair(port: number): Promise<ProviderPair> {
  const gates: readonly [ProviderGate, ProviderGate] = [await openProviderGate(port), await openProviderGate(port)];
  const mend = async (market: MarketHost): Promise<void> => {
    if (gates.every((gate) => !gate.isCut())) return;
    for (const gate of gates) gate.mend();
    await market.look();
  };
  return {
    urls: [gates[0].url, gates[1].url],
    cut: async (nth, { market, chain, follow }) => {
      await mend(market);
      gates[nth].cut();
      await market.look();
      // The market measures silence from check to check.
      for (let looks = 0; looks < 2; looks += 1) {
        await chain.wait(PATIENCE_SECONDS / 2);
        await follow();
        await market.look();
      }
    },
    mend,
    close: async () => {
      for (const gate of gates) await gate.close();
    },
  };
}

/** The connection to one provider, which can be cut and restored. */
interface ProviderGate {
  url: string;
  isCut(): boolean;
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

async function openProviderGate(port: number): Promise<ProviderGate> {
  let cut = false;
  const open = new Set<Socket>();
  const server = createServer((near) => {
    if (cut) {
      near.destroy();
      return;
    }
    const far = connect(port, '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.setNoDelay(true);
      one.on('error', () => one.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const dropAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isCut: () => cut,
    cut: () => {
      cut = true;
      dropAll();
    },
    mend: () => {
      cut = false;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        dropAll();
      }),
  };
}
