import type { Scene } from './scene.ts';

/** Does it while no other tab of this browser does anything for the same listing; false where one does. */
export async function holdPurchase(scene: Scene, act: () => Promise<void>): Promise<boolean> {
  return await scene.locks.request(nameOf(scene), { ifAvailable: true }, async (lock) => {
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

/** Resolves when the tab that holds the purchase has let go of it, or was closed. */
export async function awaitRelease(scene: Scene): Promise<void> {
  await scene.locks.request(nameOf(scene), async () => {});
}

function nameOf({ deal }: Scene): string {
  return `openaisle:buy:${deal.id}`;
}
