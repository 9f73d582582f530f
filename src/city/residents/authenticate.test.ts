import { expect, test } from 'vitest';
import { cityContext, seedResident } from '../../../test/support/city-context.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { createPepperFrom } from '../../platform/pepper.ts';
import { systemRandom } from '../../platform/random.ts';
import { makeMerchantKey } from '../../platform/secrets.ts';
import { findResidentByKey } from '../create-city.ts';

const db = testDatabase({ site: 'city' });
const first = Buffer.alloc(32, 1);
const second = Buffer.alloc(32, 2);

test('a key names its resident under every pepper that is kept, and no resident under others', async () => {
  const key = makeMerchantKey(systemRandom, 'city');
  const keyHash = createPepperFrom(new Map([[1, first]])).hash(key);
  const resident = await seedResident(db.database, { handle: 'pepper-alice', keyHash });
  const under = (peppers: Map<number, Buffer>) =>
    findResidentByKey({ ...cityContext({ database: db.database }), pepper: createPepperFrom(peppers) }, key);
  expect(await under(new Map([[1, first]]))).toEqual(resident);
  expect(
    await under(
      new Map([
        [1, first],
        [2, second],
      ]),
    ),
  ).toEqual(resident);
  expect(await under(new Map([[2, second]]))).toBeNull();
});

test('a market’s key names no resident, nor does one with a wrong checksum', async () => {
  const city = cityContext({ database: db.database });
  expect(await findResidentByKey(city, makeMerchantKey(systemRandom, 'aisle'))).toBeNull();
  expect(await findResidentByKey(city, makeMerchantKey(systemRandom, 'city'))).toBeNull();
  expect(await findResidentByKey(city, `city_sk_${'0'.repeat(49)}`)).toBeNull();
  expect(await findResidentByKey(city, '')).toBeNull();
});
