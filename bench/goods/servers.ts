import { mustSend } from './transfer.ts';

/** Takes and returns files of a fixed size. Names are numbers, each written once. */
export interface FileServer {
  name: string;
  upload(file: number, bytes: Uint8Array): Promise<void>;
  /** Returns the number of bytes that came. */
  download(file: number): Promise<number>;
}

/** The plain server, with the bytes in PostgreSQL (`chunks`) or in files. */
export function plainServer(url: string, kind: 'chunks' | 'files'): FileServer {
  return {
    name: kind === 'chunks' ? 'plain server, PostgreSQL' : 'plain server, files',
    upload: async (file, bytes) => {
      await mustSend({ method: 'PUT', url: `${url}/${kind}/${file}`, body: bytes }, [204]);
    },
    download: async (file) => (await mustSend({ method: 'GET', url: `${url}/${kind}/${file}` }, [200])).bytes,
  };
}

const TUS = { 'tus-resumable': '1.0.0' } as const;

export interface MarketFiles extends FileServer {
  /** Lists an upload free of charge, so that it can be downloaded, and frees the merchant's room for more uploads. */
  list(file: number): Promise<void>;
}

/** The market, asked as its own clients ask it, but without checksums: the plain server checks none either. */
export function marketServer(url: string, key: string, seller: string): MarketFiles {
  const authorization = `Bearer ${key}`;
  const uploads = new Map<number, string>();
  const listings = new Map<number, number>();
  return {
    name: 'market',
    upload: async (file, bytes) => {
      const created = await mustSend(
        { method: 'POST', url: `${url}/api/upload`, headers: { ...TUS, authorization, 'upload-length': bytes.length } },
        [201],
      );
      const location = new URL(created.headers.location ?? '', url);
      await mustSend(
        {
          method: 'PATCH',
          url: `${url}${location.pathname}`,
          headers: { ...TUS, authorization, 'content-type': 'application/offset+octet-stream', 'upload-offset': 0 },
          body: bytes,
        },
        [204],
      );
      uploads.set(file, location.pathname.split('/').at(-1) ?? '');
    },
    list: async (file) => {
      const body = {
        ...{ title: `Big file ${file}`, description: 'Bytes of a benchmark', preview: 'Bytes of a benchmark' },
        ...{ price_usdc: 0, seller_wallet: seller, artifact_upload: uploads.get(file) },
      };
      const answer = await mustSend(
        {
          ...{ method: 'POST', url: `${url}/api/listing`, body: Buffer.from(JSON.stringify(body)) },
          headers: { authorization, 'content-type': 'application/json' },
        },
        [200, 201],
      );
      listings.set(file, (JSON.parse(answer.text) as { listing_id: number }).listing_id);
    },
    download: async (file) => {
      const path = `/api/download/${listings.get(file)}`;
      return (await mustSend({ method: 'GET', url: `${url}${path}`, headers: { authorization } }, [200])).bytes;
    },
  };
}
