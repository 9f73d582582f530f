import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { rotatedRounds } from '../suite/rotation.ts';
import { testDatabase } from '../support/database.ts';
import {
  codeOf,
  type Doors,
  type IdentityClient,
  identityClient,
  type Shown,
  startDoors,
} from '../support/identity-doors.ts';
import type { Answer } from '../support/market-world.ts';

// Exactly one of fifty concurrent requests succeeds. All answers are searched for secrets, so a key shown twice would be noticed.

/** Number of rounds. A thousand take about ten minutes. */
const ROUNDS = Number(process.env['OPENAISLE_CONFIRM_ROUNDS'] ?? rotatedRounds(import.meta.filename, 50));
const AT_ONCE = 50;
const CODE_ROUNDS = 20;
const db = testDatabase({ poolSize: 16 });
let doors: Doors;
let client: IdentityClient;

beforeAll(async () => {
  doors = await startDoors({ database: db.database, databaseUrl: db.url, clock: systemClock });
  client = identityClient(doors.ask);
});
afterAll(() => doors.stop());

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Expects one success; all other requests find the staged change closed. */
function expectOne(answers: readonly Answer[], round: number): void {
  const said = answers.map(({ status, body }) => `${status} ${body['reason'] ?? body['status']}`);
  expect(said.toSorted(), `round ${round}`).toEqual([
    '200 confirmed',
    ...times(answers.length - 1, () => '409 stage_closed'),
  ]);
}

const all = (door: string, staged: Shown): Promise<Answer[]> =>
  Promise.all(times(AT_ONCE, () => client.confirm(door, staged)));

test('of fifty confirms at once one succeeds, at each of the three doors, in every round', {
  timeout: 1_800_000,
}, async () => {
  const started = performance.now();
  const owner = await client.join('racer');
  for (let round = 0; round < ROUNDS; round += 1) {
    if (round % 3 === 0) expectOne(await all('register', await client.stage(`racer-${round}`)), round);
    else {
      const door = round % 3 === 1 ? 'rotate' : 'recovery';
      const staged = await (door === 'rotate' ? client.rotation(owner.key) : client.recovery(codeOf(owner, round % 8)));
      expectOne(await all(door, staged), round);
      owner.key = staged.merchant_key;
      if (door === 'recovery') owner.codes = staged.recovery_codes;
    }
  }
  expect(await client.isAlive(owner.key)).toBe(true);
  console.error(`${ROUNDS} rounds of ${AT_ONCE} confirms: ${((performance.now() - started) / 1_000).toFixed(1)} s`);
});

test('one code, used fifty times at once from its begin to its confirm, is used once', {
  timeout: 600_000,
}, async () => {
  const started = performance.now();
  const owner = await client.join('one-code');
  for (let round = 0; round < CODE_ROUNDS; round += 1) {
    const code = codeOf(owner, round % 8);
    const outcomes = await Promise.all(
      times(AT_ONCE, async () => {
        const begun = await client.post('recovery', { action: 'begin', recovery_code: code });
        if (begun.status !== 200) return { staged: null, answer: begun };
        const staged = begun.body as unknown as Shown;
        return { staged, answer: await client.confirm('recovery', staged) };
      }),
    );
    const won = outcomes.filter(({ staged, answer }) => staged !== null && answer.status === 200);
    expect(won).toHaveLength(1);
    for (const { staged, answer } of outcomes.filter((outcome) => !won.includes(outcome))) {
      const reason = staged === null ? 'recovery_code_refused' : 'stage_closed';
      expect(answer.body['reason'], `round ${round}`).toBe(reason);
      if (staged !== null) expect(await client.isAlive(staged.merchant_key)).toBe(false);
    }
    const [{ staged = null } = {}] = won;
    if (staged === null) throw new Error('no registration succeeded');
    expect([await client.isAlive(staged.merchant_key), await client.isAlive(owner.key)]).toEqual([true, false]);
    [owner.key, owner.codes] = [staged.merchant_key, staged.recovery_codes];
  }
  console.error(
    `${CODE_ROUNDS} codes, each used ${AT_ONCE} times at once: ${((performance.now() - started) / 1_000).toFixed(1)} s`,
  );
});

test('rotation, recovery and new codes of one merchant at once: whatever is in force afterwards is what one of them showed', {
  timeout: 600_000,
}, async () => {
  const owner = await client.join('mixed-race');
  for (let round = 0; round < CODE_ROUNDS; round += 1) {
    const [rotation, recovery] = [await client.rotation(owner.key), await client.recovery(codeOf(owner, 0))];
    const [rotated, recovered, made] = await Promise.all([
      client.confirm('rotate', rotation),
      client.confirm('recovery', recovery),
      client.post('recovery', { action: 'generate', recovery_code: codeOf(owner, 1) }, { key: owner.key }),
    ]);
    // The recovery cannot succeed together with the rotation or with the new codes.
    expect([rotated.status, recovered.status]).not.toEqual([200, 200]);
    expect([made.status, recovered.status]).not.toEqual([200, 200]);
    expect([rotated, recovered, made].some(({ status }) => status === 200)).toBe(true);
    const keys = { [owner.key]: false, [rotation.merchant_key]: false, [recovery.merchant_key]: false };
    const current =
      recovered.status === 200 ? recovery.merchant_key : rotated.status === 200 ? rotation.merchant_key : owner.key;
    keys[current] = true;
    for (const [key, alive] of Object.entries(keys)) expect(await client.isAlive(key), `round ${round}`).toBe(alive);
    owner.key = current;
    if (recovered.status === 200) owner.codes = recovery.recovery_codes;
    else if (made.status === 200) owner.codes = made.body['recovery_codes'] as string[];
    await client.cancel('recovery', await client.recovery(codeOf(owner, 7)));
  }
});
