import { request } from 'node:http';
import { systemClock } from '../../src/platform/clock.ts';
import { type BoundsWorld, bytesOf } from '../../test/support/bounds/bounds-world.ts';
import type { HostileRequest } from '../../test/support/bounds/requests.ts';
import { type Honest, startHonest } from '../../test/support/honest-clients.ts';
import type { Running } from '../run-bench.ts';

export interface HonestOutcome {
  without: Honest;
  beside: Honest & { attacks: number };
}

const READS = ['/api/shelves', '/healthz', '/api/merchants', '/'];
/** Number of attacking addresses. Each sends one request at a time. */
const ATTACKERS = 4;

/** Measures honest clients on an idle market, and while strangers send hostile requests. */
export async function measureHonest(
  bounds: BoundsWorld,
  seconds: number,
  { signal, tell }: Running,
): Promise<HonestOutcome> {
  const port = Number(new URL(bounds.world.marketUrl).port);
  const watch = async (): Promise<Honest> => {
    const honest = startHonest(port, READS);
    await systemClock.sleep(seconds * 1_000, signal);
    return await honest.end();
  };
  tell(`honest clients alone, ${seconds} s`);
  const without = await watch();
  tell(`honest clients beside ${ATTACKERS} strangers, ${seconds} s`);
  const attack = startAttack(port, attacksOf(bounds));
  const beside = await watch();
  return { without, beside: { ...beside, attacks: await attack.end() } };
}

/** Covers an endpoint without a key, the largest body, stored texts, and public reads. */
const ATTACKED: ReadonlySet<string> = new Set(['register', 'createListing', 'postComment', 'browseShelves']);
const MIN_BYTES = 10_000;

/** Returns the large requests to these endpoints. Even a new merchant can send each of them. */
function attacksOf({ targets }: BoundsWorld): HostileRequest[] {
  const attacked = targets.filter(({ site, name }) => site === 'market' && ATTACKED.has(name));
  return attacked.flatMap(({ requests }) => requests.filter((one) => bytesOf(one) >= MIN_BYTES));
}

function startAttack(port: number, requests: readonly HostileRequest[]) {
  let isOver = false;
  let sent = 0;
  const run = async (index: number): Promise<void> => {
    for (let at = index; !isOver; at += ATTACKERS) {
      const hostile = requests[at % requests.length];
      if (hostile === undefined) return;
      await send(port, hostile, `127.7.${index}.1`);
      sent += 1;
    }
  };
  const running = Array.from({ length: ATTACKERS }, (_, index) => run(index));
  return {
    /** Stops and returns the number of requests that were answered or cut off. */
    end: async (): Promise<number> => {
      isOver = true;
      await Promise.all(running);
      return sent;
    },
  };
}

/** Resolves when the answer is complete or the connection was cut off. */
function send(port: number, { method, path, headers, body }: HostileRequest, localAddress: string): Promise<void> {
  const length = body === null ? {} : { 'content-length': String(body.length) };
  return new Promise((resolve) => {
    const options = {
      host: '127.0.0.1',
      port,
      path,
      method,
      localAddress,
      agent: false,
      headers: { ...headers, ...length },
    };
    const sent = request(options, (answer) => {
      answer.resume();
      answer.once('close', () => resolve());
    });
    sent.once('error', () => resolve());
    sent.end(body ?? undefined);
  });
}
