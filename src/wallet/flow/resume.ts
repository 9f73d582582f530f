import { buy } from '../../sdk/payments/buy.ts';
import type { PurchaseRecord } from '../purchase-record.ts';
import type { FoundWallet } from '../wallet-announcements.ts';
import { type Address, mustHaveBalance, readAccounts, WalletTrouble } from '../wallet-provider.ts';
import { connectTo, showWallets } from './ask-wallet.ts';
import { collectBySignature, collectByToken } from './collect.ts';
import { explain } from './explain.ts';
import { payAndCollect } from './pay.ts';
import type { Scene } from './scene.ts';
import { forgetPurchase, showDelivery, showRefusal } from './show-outcome.ts';

/**
 * Continues from the stored state. If another tab has the lock, shows its progress and takes over when that tab releases the lock or
 * closes.
 */
export async function resumeFlow(scene: Scene, isAct: boolean): Promise<void> {
  const { store, screen } = scene;
  for (;;) {
    const isHeld = await holdPurchase(scene, () => continuePurchase(scene, isAct));
    if (isHeld) return;
    screen.show({ kind: 'elsewhere', record: store.record() });
    await awaitRelease(scene);
  }
}

async function continuePurchase(scene: Scene, isAct: boolean): Promise<void> {
  const { store } = scene;
  let record: PurchaseRecord | null;
  let payer: string | undefined;
  try {
    payer = (await store.saved())?.proof.payer;
    record = store.record();
  } catch (error) {
    return await showRefusal(scene, error, '0x');
  }
  if (payer !== undefined) return await payAndCollect(scene, asAddress(payer));
  if (record?.phase === 'bought') return await reopenGoods(scene, record);
  // The tab that began this purchase is gone, and nothing was signed.
  if (record !== null) store.forget();
  offerPurchase(scene, isAct);
}

/** Shows the first step, because nothing is stored. */
function offerPurchase(scene: Scene, isAct: boolean): void {
  const { offer, screen } = scene;
  if (offer.units === 0n) {
    const kind = offer.state === 'live' ? 'free' : 'closed';
    screen.show(kind === 'free' ? { kind, get: () => void getFree(scene) } : { kind }, isAct);
    return;
  }
  const bought = { words: 'I have bought it already', act: () => offerCollecting(scene) };
  if (offer.state !== 'live') {
    screen.show({ kind: 'closed', collect: bought }, isAct);
    return;
  }
  const question = {
    title: 'Choose a wallet',
    text: 'It is asked for your account first. Before anything is signed you see here what it is.',
    wanted: null,
    others: [bought],
  };
  showWallets(scene, question, (wallet) => void beginPurchase(scene, wallet), isAct);
}

async function beginPurchase(scene: Scene, wallet: FoundWallet): Promise<void> {
  await runUnderPurchaseLock(scene, async () => {
    const connected = await connectTo(scene, wallet, null);
    await mustHaveBalance(connected, scene.offer);
    await payAndCollect(scene, connected.address);
  });
}

/** Lets a buyer who paid in another browser, or whose data was cleared, collect by signature. */
function offerCollecting(scene: Scene): void {
  const question = {
    title: 'Connect the wallet that paid',
    text: 'It shows by a signature whose it is, over an amount of 0; then the market says whether it has paid for these goods.',
    wanted: null,
    others: [{ words: 'Back', act: () => void scene.resume(true) }],
  };
  const choose = (wallet: FoundWallet): void =>
    void runUnderPurchaseLock(scene, async () => {
      const { address } = await connectTo(scene, wallet, null);
      await collectBySignature(scene, address);
    });
  showWallets(scene, question, choose, true);
}

async function reopenGoods(scene: Scene, record: PurchaseRecord): Promise<void> {
  const { offer, screen } = scene;
  if (offer.units === 0n) return await getFree(scene);
  try {
    if (record.token !== null && (await collectByToken(scene, record.token))) return;
  } catch (error) {
    return await showRefusal(scene, error, asAddress(record.payer ?? ''));
  }
  const sign = (): void =>
    void runUnderPurchaseLock(scene, () => collectBySignature(scene, asAddress(record.payer ?? '')));
  screen.show({ kind: 'sign_to_read', record, sign, forget: () => forgetPurchase(scene) });
}

/** Runs `act` under this listing's cross-tab lock and shows its errors. If another tab holds the lock, follows that tab. */
export async function runUnderPurchaseLock(scene: Scene, act: () => Promise<void>): Promise<void> {
  const isHeld = await holdPurchase(scene, async () => {
    try {
      await act();
    } catch (error) {
      await showRefusal(scene, error, '0x');
    }
  });
  if (!isHeld) await scene.resume(true);
}

function asAddress(text: string): Address {
  return readAccounts([text])[0] ?? '0x';
}

/** Runs `act` under this listing's cross-tab lock. Returns false if another tab holds it. */
async function holdPurchase(scene: Scene, act: () => Promise<void>): Promise<boolean> {
  return await scene.locks.request(lockNameOf(scene), { ifAvailable: true }, async (lock) => {
    if (lock === null) return false;
    scene.isHolding = true;
    try {
      await act();
    } finally {
      scene.isHolding = false;
    }
    return true;
  });
}

/** Resolves when the tab that has the lock releases it or closes. */
async function awaitRelease(scene: Scene): Promise<void> {
  await scene.locks.request(lockNameOf(scene), async () => {});
}

function lockNameOf({ offer }: Scene): string {
  return `openaisle:buy:${offer.id}`;
}

const NO_ADDRESS = `0x${'0'.repeat(40)}` as const;

/** Gets free goods without a wallet, and checks them like goods that are bought. */
async function getFree(scene: Scene): Promise<void> {
  const { client, offer, store, screen } = scene;
  try {
    const delivery = await buy({
      ...{ client, listingId: offer.id, maxPriceUsdc: 0, network: offer.network, proofStore: store.proofs },
      wallet: { address: NO_ADDRESS, signTypedData: () => Promise.reject(new WalletTrouble('unusable')) },
    });
    showDelivery(scene, delivery);
  } catch (error) {
    const trouble = explain(error, { hasProof: false, isPaid: false, hasEnded: false, until: null });
    const actions = [{ words: 'Try again', act: () => void getFree(scene), isMain: true }];
    screen.show(
      {
        kind: 'trouble',
        trouble: { ...trouble, money: 'It costs nothing, and nothing was signed.' },
        actions,
        record: null,
      },
      true,
    );
  }
}
