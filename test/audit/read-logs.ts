import { type Asking, NodeRefused } from './ask-node.ts';
import type { Chain, ChainLog, Topics } from './read-chain.ts';

/** How many blocks are asked about at once, at first and at most. Providers differ; it is halved until one takes it. */
const FIRST_BLOCKS = 2_000;
const MOST_BLOCKS = 50_000;
/** After so many logs in one answer the range is not made larger. */
const MANY_LOGS = 1_000;

/** Reads logs in ranges that grow and shrink with what the provider takes. It is remembered over all readings. */
export function createLogReader(ask: Asking, token: string): Chain['logs'] {
  let blocks = FIRST_BLOCKS;
  const read = (topics: Topics, from: number, to: number): Promise<ChainLog[]> =>
    ask('eth_getLogs', [{ address: token, topics, fromBlock: hexOf(from), toBlock: hexOf(to) }]);

  return async function* logs(topics, from, to) {
    for (let at = from; at <= to; ) {
      const end = Math.min(to, at + blocks - 1);
      let found: ChainLog[];
      try {
        found = await read(topics, at, end);
      } catch (error) {
        if (!(error instanceof NodeRefused)) throw error;
        if (end === at) {
          yield* oneBlock(topics, at, error);
          at += 1;
        } else blocks = Math.max(1, Math.floor((end - at + 1) / 2));
        continue;
      }
      yield* found;
      if (end - at + 1 === blocks && found.length < MANY_LOGS) blocks = Math.min(MOST_BLOCKS, blocks * 2);
      at = end + 1;
    }
  };

  /** Refused for a single block: then there are too many wallets in the question. */
  async function* oneBlock(
    topics: Topics,
    at: number,
    refused: NodeRefused,
  ): AsyncGenerator<ChainLog, void, undefined> {
    const halves = halvesOf(topics);
    if (halves === null) throw refused;
    for (const half of halves) {
      try {
        yield* await read(half, at, at);
      } catch (error) {
        if (!(error instanceof NodeRefused)) throw error;
        yield* oneBlock(half, at, error);
      }
    }
  }
}

function halvesOf(topics: Topics): [Topics, Topics] | null {
  const place = topics.findIndex((topic) => Array.isArray(topic) && topic.length > 1);
  const list = topics[place];
  if (!Array.isArray(list)) return null;
  const half = Math.ceil(list.length / 2);
  return [topics.with(place, list.slice(0, half)), topics.with(place, list.slice(half))];
}

const hexOf = (number: number): string => `0x${number.toString(16)}`;
