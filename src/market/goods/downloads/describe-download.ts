import { DOWNLOAD_PATH, type Download } from '../../../contract/uploads.ts';
import { toHex } from '../../../platform/hex.ts';
import type { MarketConfig } from '../../context.ts';

export interface DownloadFacts {
  listingId: bigint;
  bytes: number;
  mediaType: string;
  filename: string | null;
  sha256: Buffer;
}

/** Says where uploaded goods are collected. The address is no secret: it opens only with what bought the goods. */
export function describeDownload({ baseUrl }: Pick<MarketConfig, 'baseUrl'>, facts: DownloadFacts): Download {
  return {
    url: `${baseUrl}${DOWNLOAD_PATH}/${facts.listingId}`,
    bytes: facts.bytes,
    media_type: facts.mediaType,
    filename: facts.filename,
    sha256: toHex(facts.sha256),
    download_token: null,
    expires_at: null,
  };
}
