import { expect, test } from 'vitest';
import type { Endpoints } from '../../src/contract/index.ts';
import { IDENTITY_ENDPOINTS } from '../../src/contract/vocabulary.ts';
import type { Market, MarketCall } from '../../src/market/context.ts';
import { recovery } from '../../src/market/identity/recovery.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { makeRecoveryCode } from '../../src/platform/secrets.ts';
import { rotatedRounds } from '../suite/rotation.ts';
import { reasonOf } from '../support/ask.ts';
import { testDatabase } from '../support/database.ts';
import { ROOMY, registerCaller } from '../support/identity-doors.ts';
import { marketContext } from '../support/market-context.ts';

// Runs without the limits, which would stop it after ten tries, so that only the code itself protects the account.

/** Number of tries. 200,000 take about eight minutes. */
const TRIES = Number(process.env['OPENAISLE_WRONG_CODES'] ?? rotatedRounds(import.meta.filename, 5_000));
const AT_ONCE = 64;
const MERCHANTS = 25;
const PER_NETWORK = 500;
const db = testDatabase({ poolSize: 16 });

/** Returns a wrong code. Half are random but well formed; half are a valid code with one character changed, removed or added. */
function wrongCode(index: number, rights: readonly string[]): string {
  if (index % 2 === 0) return makeRecoveryCode(systemRandom, 'aisle');
  const right = rights[index % rights.length] ?? '';
  const at = 'aisle_rc_'.length + (index % 29);
  const other = 'ABCDEFGHJKMNPQRSTVWXYZ0123456789-ILOU!'.charAt((index * 7) % 38);
  const changed = right.slice(0, at) + other + right.slice(at + 1);
  if (changed !== right) return changed;
  return index % 3 === 0 ? right.slice(0, -1) : `${right}0`;
}

test(`of ${TRIES} wrong codes none is accepted`, { timeout: 1_800_000 }, async () => {
  const context = marketContext({ database: db.database, limits: ROOMY });
  const market: Market = {
    ...context,
    config: { ...context.config, openIdentityEndpoints: new Set(IDENTITY_ENDPOINTS) },
  };
  const door = registerCaller(market);
  const rights: string[] = [];
  for (let index = 0; index < MERCHANTS; index += 1) {
    const staged = await door.stage(`holder-${index}`);
    await door.confirm(staged);
    rights.push(...staged.recovery_codes);
  }
  const begin = (code: string, index: number): Promise<unknown> => {
    const clientNetwork = `10.0.${Math.floor(index / PER_NETWORK / 250)}.${Math.floor(index / PER_NETWORK) % 250}`;
    const body = { action: 'begin', recovery_code: code };
    return recovery(market, { body, bearer: null, clientNetwork } as MarketCall<Endpoints['recovery']>);
  };
  const started = performance.now();
  const reasons = new Map<string, number>();
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < TRIES) {
      const index = next;
      next += 1;
      const reason = await reasonOf(begin(wrongCode(index, rights), index));
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  expect(Object.fromEntries(reasons)).toEqual({ recovery_code_refused: TRIES });
  const seconds = (performance.now() - started) / 1_000;
  console.error(`${TRIES} wrong codes: ${seconds.toFixed(1)} s, ${Math.round(TRIES / seconds)} a second`);
  // A valid code sent in the same way works.
  for (const [index, code] of rights.entries()) expect(await reasonOf(begin(code, index))).toBe('none');
});
