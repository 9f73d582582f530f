import { concatBytes, hexToBytes, sha256, stringToBytes } from 'viem';
import type { Delivery } from '../../contract/listings.ts';
import { fromBase64 } from '../base64.ts';

type Goods = Pick<Delivery, 'artifact' | 'artifact_encoding' | 'artifact_salt'>;

export function artifactBytes(goods: Pick<Goods, 'artifact' | 'artifact_encoding'>): Uint8Array {
  if (goods.artifact === null) throw new TypeError('these goods are a file: use download()');
  return goods.artifact_encoding === 'base64' ? fromBase64(goods.artifact) : stringToBytes(goods.artifact);
}

/** Computes SHA-256 over the 32 salt bytes and the artifact bytes. The listing published this value before the purchase. */
export function commitmentOf(goods: Goods): string {
  return sha256(concatBytes([hexToBytes(goods.artifact_salt as `0x${string}`), artifactBytes(goods)]));
}

/** The delivered goods don't match the listing's commitment. If they have a price, they are paid for. `delivery()` returns them. */
export class ArtifactMismatch extends Error {
  override readonly name = 'ArtifactMismatch';
  readonly doNotPayAgain = true;
  readonly expected: string;
  readonly actual: string;
  readonly #delivery: Delivery;

  constructor(delivery: Delivery, expected: string, actual: string) {
    super(`the goods of listing ${delivery.listing_id} don’t match its published commitment`);
    this.expected = expected;
    this.actual = actual;
    this.#delivery = delivery;
  }

  delivery(): Delivery {
    return this.#delivery;
  }
}
