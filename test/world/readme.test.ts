import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { signProof } from '../support/market-world.ts';
import { testTrade } from '../support/trade.ts';

// Repeats the purchase in the README and compares the real answers with those in the text.

const { world, goods } = testTrade();

/** Fields that differ between runs. */
const VARYING = new Set(['block_number', 'finalized_head', 'retry_after_seconds']);
const REST = '…';

/** Returns status and body of the answers in the README, in order. `…` marks omitted parts. */
function answersOfReadme(): { status: number; body: unknown }[] {
  const text = readFileSync(resolve(import.meta.dirname, '../../README.md'), 'utf8');
  return [...text.matchAll(/```json (\d+)\n([\s\S]*?)```/g)].map(([, status = '', shown = '']) => ({
    status: Number(status),
    body: JSON.parse(shown.replaceAll(/, …(?=\s*[}\]])/g, `, "${REST}": true`)),
  }));
}

/** Returns the paths at which the real answer differs from the one shown. */
function differences(shown: unknown, real: unknown, path = ''): string[] {
  if (typeof shown === 'string' && shown.endsWith(REST))
    return typeof real === 'string' && real.startsWith('0x') === shown.startsWith('0x') ? [] : [path];
  if (typeof shown !== 'object' || shown === null) {
    const varies = typeof shown === 'number' && VARYING.has(path.replace(/.*\./, ''));
    return (varies ? typeof real === 'number' : shown === real) ? [] : [`${path}: ${String(real)}`];
  }
  if (typeof real !== 'object' || real === null) return [path];
  const left = Object.keys(real).filter((key) => !(key in shown));
  return [
    ...(left.length > 0 === REST in shown ? [] : [`${path}: ${left.join(', ')} left out without a word, or none`]),
    ...Object.entries(shown).flatMap(([key, value]) =>
      key === REST ? [] : differences(value, Reflect.get(real, key), `${path}.${key}`),
    ),
  ];
}

it('README shows what a market answers', async () => {
  const { id, terms } = await goods();
  const asked = await world.buy(id);
  const proof = await signProof(world.chain, WORLD_ACCOUNTS.buyerOne, terms);
  const pending = await world.buy(id, { proof: proof.v2 });
  await world.finalize();
  const headers = { 'x-delivery-token': String(pending.body['delivery_token']) };
  const delivered = await world.buy(id, { proof: proof.v2, headers });
  const shown = answersOfReadme();
  expect(shown.map(({ status }) => status)).toEqual([asked.status, pending.status, delivered.status]);
  for (const [at, { body }] of [asked, pending, delivered].entries())
    expect(differences(shown[at]?.body, body)).toEqual([]);
});

it('a wrong word, a field that is missing and one that is not there would be noticed', () => {
  expect(differences({ a: 1, [REST]: true }, { a: 2, b: 3 })).toEqual(['.a: 2']);
  expect(differences({ a: 1 }, { a: 1, b: 3 })).toHaveLength(1);
  expect(differences({ a: { b: 'x…' }, [REST]: true }, { a: {}, c: 1 })).toEqual(['.a.b']);
});
