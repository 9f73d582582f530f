import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { createTestDatabase } from '../../../test/support/database.ts';
import { inSnapshot } from './database.ts';
import { openDatabase } from './open-database.ts';

it('reads everything of one moment, and lets nothing be written', async () => {
  const { database, url, drop } = await createTestDatabase();
  const other = await openDatabase({ url, poolSize: 1, allowUnsafe: true });
  const insertion = sql`insert into wallet_uses (wallet, kind) values (${Buffer.alloc(20, 1)}, 'ordinary')`;
  const seen = await inSnapshot(database, async (snapshot) => {
    const count = () => snapshot.one(sql`select count(*) from wallet_uses`);
    const first = await count();
    await other.run(insertion);
    return [first, await count()];
  });
  expect(seen).toEqual([{ count: 0n }, { count: 0n }]);
  expect(await database.one(sql`select count(*) from wallet_uses`)).toEqual({ count: 1n });
  await expect(inSnapshot(database, (snapshot) => snapshot.run(insertion))).rejects.toThrow('read-only');
  await other.close();
  await drop();
});
