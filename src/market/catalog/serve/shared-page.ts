import type { PageBytes } from '../fragments/page-bytes.ts';

/** Bytes that are sent to many. Their memory is given back when the last has them and nobody will send them again. */
export interface SharedPage {
  readonly body: Uint8Array;
  readonly takenBytes: number;
  /** Sendings under way. */
  users: number;
  /** No further sending. */
  dropped: boolean;
  giveBack(): void;
  /** To be called once by each user, when it is done. */
  release(): void;
}

export function sharePage(page: PageBytes | null): SharedPage | null {
  if (page === null) return null;
  const shared: SharedPage = {
    body: page.body,
    takenBytes: page.takenBytes,
    users: 0,
    dropped: false,
    giveBack: page.release,
    release: () => {
      shared.users -= 1;
      if (shared.dropped && shared.users === 0) shared.giveBack();
    },
  };
  return shared;
}

export function dropPage(page: SharedPage | null): void {
  if (page === null || page.dropped) return;
  page.dropped = true;
  if (page.users === 0) page.giveBack();
}
