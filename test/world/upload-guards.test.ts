import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertLoss } from '../../src/platform/log-copy/store.ts';
import { type Member, startWorld, type World } from '../support/market-world.ts';
import { askTus, createUpload, patchUpload, readOffset } from '../support/upload-stage.ts';

let world: World;
let owner: Member;
let path: string;

beforeAll(async () => {
  world = await startWorld();
  owner = await world.join('owner');
  path = await createUpload(world, owner.key, 10);
});
afterAll(() => world.stop());

const create = async () => {
  const answer = await askTus(world.url, 'POST', '/api/upload', { key: owner.key, headers: { 'upload-length': '5' } });
  return answer.status === 201 ? 'created' : String(answer.body['reason']);
};

test('while history is lost nothing is uploaded, and nothing said about an upload', async () => {
  const loss = {
    copy: { id: 10n, hash: Buffer.alloc(32, 1) },
    foundId: 3n,
    host: crypto.randomUUID(),
    now: new Date(),
  };
  await insertLoss(world.db.database, loss);
  await expect.poll(create).toBe('history_lost');
  const patched = await patchUpload(world, path, { key: owner.key, offset: 0, body: Buffer.alloc(10) });
  expect([patched.status, patched.body['reason']]).toEqual([503, 'history_lost']);
  expect((await askTus(world.url, 'HEAD', path, { key: owner.key })).status).toBe(503);
  expect((await askTus(world.url, 'DELETE', path, { key: owner.key })).status).toBe(503);
});

test('after a recovery a merchant that must rotate its key uploads nothing and may ask', async () => {
  await world.db.database.transaction(async (tx) => {
    const { id } = await tx.one<{ id: bigint }>(sql`
      insert into recoveries (chain_id, from_block, to_block, reason, kept_event_id, event_id, found, at)
      values (8453, 1, 2, 'a test', 0, 20, '{}', now()) returning id`);
    await tx.run(sql`update history_losses set recovered_by = ${id}`);
    await tx.run(
      sql`insert into identity_locks (merchant_id, until, recovery_id) values (${owner.id}, 'rotate', ${id})`,
    );
  });
  await expect.poll(create).toBe('rotation_required');
  const patched = await patchUpload(world, path, { key: owner.key, offset: 0, body: Buffer.alloc(10) });
  expect([patched.status, patched.body['reason']]).toEqual([403, 'rotation_required']);
  expect(await readOffset(world, owner.key, path)).toBe(0);
  expect((await askTus(world.url, 'DELETE', path, { key: owner.key })).status).toBe(403);
});
