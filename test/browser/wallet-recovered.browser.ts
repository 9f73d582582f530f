import { afterAll, expect, it } from 'vitest';
import { loseTo, openHistoryWorld, recoverHistory } from '../support/history-world.ts';
import { beyondRefusals, type Goods, type Shopper, walletStage } from './wallet-stage.ts';

// A restore removed purchases, and the page restores them with the proofs it stored.

const history = await openHistoryWorld();
afterAll(() => history.stop());
const place = await history.newHost();
const { world, goods, shopper } = await walletStage({ db: history.db, logCopy: place, reconcileEveryMs: 200 });

const hasGoods = ({ page }: Shopper): Promise<void> => page.locator('#matches').waitFor();
const online = ({ page }: Shopper): Promise<unknown> => page.evaluate(`dispatchEvent(new Event('online'))`);

async function buy(listed: Goods): Promise<Shopper> {
  const person = await shopper();
  await person.toSettled(listed);
  await world.finalize();
  await hasGoods(person);
  return person;
}

it('a page that waited goes on, and those that had their goods show them again, and no buyer pays twice', async () => {
  const listed = [await goods(), await goods(), await goods()] as const;
  const backup = await history.primary.copyWhileRunning();
  const [byToken, bySignature, waits] = [await buy(listed[0]), await buy(listed[1]), await shopper()];
  await waits.toSettled(listed[2]);
  await loseTo(backup, { history, world, place });
  await online(waits);
  await waits.page.locator('#stage-title', { hasText: 'The market has lost some of its books' }).waitFor();
  await world.finalize();
  await recoverHistory(world, place);

  await online(waits);
  await hasGoods(waits);
  await byToken.page.reload();
  await hasGoods(byToken);
  await bySignature.page.evaluate(`(() => {
    const name = 'openaisle:purchase:${listed[1].id}';
    localStorage[name] = JSON.stringify({ ...JSON.parse(localStorage[name]), token: null });
  })()`);
  await bySignature.page.reload();
  await bySignature.page.click('#collect');
  await bySignature.page.click('#wallet-0');
  await bySignature.page.click('#sign');
  await hasGoods(bySignature);

  for (const [index, person] of [byToken, bySignature, waits].entries()) {
    const { artifact, price } = listed[index] as Goods;
    expect(await person.readPage()).toContain(artifact);
    expect(await person.paid()).toEqual([price]);
    expect(beyondRefusals(person.visitor)).toEqual([]);
    await person.visitor.close();
  }
  const values = [byToken, bySignature, waits].map(({ wallet }) =>
    wallet.signed.map(({ message }) => message['value']),
  );
  expect(values).toEqual([['4000000'], ['4000000', '0'], ['4000000']]);
});
