import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { UploadOut } from '../../src/contract/uploads.ts';
import { problem } from './market-answers.ts';

/**
 * `cut_request`: the connection ends before the request was read. `cut_answer`: the request counts, its answer is lost. `cut_after`: an
 * answer ends after that many bytes. `wrong_byte`: one bit of the goods is turned. `wrong_offset`: the answer names another offset. `page`:
 * this text with status 200, or 206 where a range was asked for, in place of the goods; with `type` and `tag` (empty: without it).
 */
export interface Fault {
  cut_request?: true;
  cut_answer?: true;
  cut_after?: number;
  wrong_byte?: true;
  wrong_offset?: true;
  refuse?: Parameters<typeof problem>;
  retryAfter?: number;
  /** Answers with all bytes, whatever range was asked for. */
  no_range?: true;
  /** Answers 202 with JSON. */
  accepted?: true;
  page?: string;
  type?: string;
  tag?: string;
}

export interface SeenGoodsRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  /** Bytes that came with it. */
  bytes: number;
}

interface Stored {
  row: UploadOut;
  content: Buffer;
}

export interface FaultyGoodsServer extends AsyncDisposable {
  baseUrl: string;
  seen: SeenGoodsRequest[];
  uploads: Map<string, Stored>;
  /** Goods of GET /api/download/7, with their tag. */
  goods: { content: Buffer; tag: string };
}

/** Starts a server that is strict about tus 1.0.0 and ranges, and has the faults that `faultOf` names for each request. */
export async function startFaultyGoodsServer(
  faultOf: (request: SeenGoodsRequest, index: number) => Fault = () => ({}),
): Promise<FaultyGoodsServer> {
  const state: Pick<FaultyGoodsServer, 'seen' | 'uploads' | 'goods'> = {
    ...{ seen: [], uploads: new Map(), goods: { content: Buffer.alloc(0), tag: '' } },
  };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('error', () => {});
    request.on('end', () => {
      const content = Buffer.concat(parts);
      const { method = '', url = '', headers } = request;
      const seen = { method, path: url, headers, bytes: content.length };
      const fault = faultOf(seen, state.seen.push(seen) - 1);
      if (fault.cut_answer === true) response.end = () => response.destroy();
      if (fault.cut_request === true) request.socket.destroy();
      else if (fault.refuse !== undefined) refuse(response, fault);
      else if (fault.accepted === true) response.writeHead(202, { 'content-type': 'application/json' }).end('{}');
      else if (fault.page !== undefined) servePage(response, headers, fault);
      else if (url.startsWith('/api/download/')) serveGoods(response, headers, state.goods, fault);
      else serveUpload({ seen, content, response, fault, uploads: state.uploads, address: addressOf() });
    });
  });
  const addressOf = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    ...state,
    baseUrl: addressOf(),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function refuse(response: ServerResponse, { refuse: given, retryAfter }: Fault): void {
  if (given === undefined) return;
  const body = problem(...given);
  const wait = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
  response.writeHead(body.status, { 'content-type': 'application/problem+json', ...wait });
  response.end(JSON.stringify(body));
}

interface UploadCall {
  seen: SeenGoodsRequest;
  content: Buffer;
  response: ServerResponse;
  fault: Fault;
  uploads: Map<string, Stored>;
  address: string;
}

function serveUpload(call: UploadCall): void {
  const { seen, response, uploads, address } = call;
  const { method, path, headers } = seen;
  const found = uploads.get(path.split('/').at(-1) ?? '');
  if (method === 'GET') {
    const rows = [...uploads.values()].map(({ row }) => row);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ uploads: rows, total: rows.length, most_open: 3, most_staged_bytes: 1e9 }));
  } else if (headers['tus-resumable'] !== '1.0.0') {
    refuse(response, { refuse: ['tus_version'] });
  } else if (method === 'POST') {
    const id = String(uploads.size + 1).padStart(22, 'u');
    uploads.set(id, { row: rowOf(id, headers), content: Buffer.alloc(0) });
    response.writeHead(201, { location: `${address}/api/upload/${id}` });
    response.end();
  } else if (found === undefined) {
    refuse(response, { refuse: ['upload_not_found'] });
  } else if (method === 'HEAD' || storePart(call, found)) {
    sendOffset(call, found);
  }
}

function sendOffset({ seen: { method }, response, fault }: UploadCall, found: Stored): void {
  const offset = found.row.received_bytes + (fault.wrong_offset === true ? 1 : 0);
  response.writeHead(method === 'HEAD' ? 200 : 204, {
    'upload-offset': String(offset),
    'upload-length': String(found.row.bytes),
  });
  response.end();
}

function rowOf(id: string, headers: IncomingMessage['headers']): UploadOut {
  const metadata = new Map(
    String(headers['upload-metadata'] ?? '')
      .split(',')
      .map((pair) => pair.split(' ') as [string, string | undefined]),
  );
  const read = (name: string): string | null => {
    const text = metadata.get(name);
    return text === undefined ? null : Buffer.from(text, 'base64').toString('utf8');
  };
  return {
    ...{ id, state: 'open', bytes: Number(headers['upload-length']), received_bytes: 0, sha256: null },
    ...{ filename: read('filename'), media_type: read('filetype'), listing_id: null },
    ...{ created_at: '2026-01-02T03:04:05.678Z', expires_at: null },
  };
}

function storePart({ seen, content, response }: UploadCall, found: Stored): boolean {
  const { headers } = seen;
  const { row } = found;
  const [, sum] = /^sha256 (\S+)$/.exec(String(headers['upload-checksum'])) ?? [];
  if (headers['upload-offset'] !== String(row.received_bytes)) {
    refuse(response, { refuse: ['upload_offset'] });
    return false;
  }
  if (sum !== createHash('sha256').update(content).digest('base64')) {
    refuse(response, { refuse: ['checksum_mismatch'] });
    return false;
  }
  found.content = Buffer.concat([found.content, content]);
  row.received_bytes = found.content.length;
  if (row.received_bytes === row.bytes) {
    row.state = 'complete';
    row.sha256 = `0x${createHash('sha256').update(found.content).digest('hex')}`;
  }
  return true;
}

function servePage(
  response: ServerResponse,
  { range }: IncomingMessage['headers'],
  { page = '', type = 'application/octet-stream', tag = '' }: Fault,
): void {
  const [, from] = /^bytes=(\d+)-$/.exec(range ?? '') ?? [];
  response.writeHead(from === undefined ? 200 : 206, {
    ...(type === '' ? {} : { 'content-type': type }),
    ...(tag === '' ? {} : { etag: tag }),
    ...(from === undefined ? {} : { 'content-range': `bytes ${from}-${Number(from) + page.length - 1}/3145733` }),
  });
  response.end(page);
}

function serveGoods(
  response: ServerResponse,
  headers: IncomingMessage['headers'],
  { content, tag }: FaultyGoodsServer['goods'],
  fault: Fault,
): void {
  const [, from = '0'] = /^bytes=(\d+)-$/.exec(String(headers.range)) ?? [];
  const isRange = headers.range !== undefined && headers['if-range'] === tag && fault.no_range !== true;
  const start = isRange ? Number(from) : 0;
  const sent = Buffer.from(content.subarray(start));
  if (fault.wrong_byte === true) sent[0] = (sent[0] ?? 0) ^ 1;
  const length = { 'content-length': String(sent.length), etag: tag };
  const told = start + (fault.wrong_offset === true ? 1 : 0);
  const range = isRange ? { 'content-range': `bytes ${told}-${content.length - 1}/${content.length}` } : {};
  response.writeHead(isRange ? 206 : 200, { 'content-type': 'application/octet-stream', ...length, ...range });
  if (fault.cut_after === undefined) response.end(sent);
  else response.write(sent.subarray(0, fault.cut_after), () => response.destroy());
}
