import { META } from '../../contract/tools.ts';
import { gzipAround } from '../../platform/gzip/pack-part.ts';
import type { QuickParts } from '../../platform/http/prepared.ts';
import type { KeptResult } from './kept-results.ts';
import type { Plain } from './read-plain.ts';
import { serverInfo } from './server-info.ts';

/** A result, and whether its reader takes it packed. */
export interface Ready extends KeptResult {
  isPacked: boolean;
}

export const unpacked = (plain: Buffer): Ready => ({ plain, packed: null, isPacked: false });

export type WrapResult = (plain: Plain, result: Ready) => QuickParts;

const HEADS = { modern: Buffer.from('{"result":{'), legacy: Buffer.from('event: message\ndata: {"result":{') };

/** What stands around a result. All but the id is the same for all calls of a tool. */
export function createWrapResult(baseUrl: string): WrapResult {
  const modern = JSON.stringify({ 'io.modelcontextprotocol/serverInfo': serverInfo(baseUrl) }).slice(1, -1);
  const untrusted = JSON.stringify({ [META.untrusted]: true }).slice(1, -1);
  return ({ tool, id, isModern }, result) => {
    const own = tool.holdsMerchantText ? untrusted : '';
    const close = `},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`;
    if (isModern) {
      const tail = `,"_meta":{${own}${own === '' ? '' : ','}${modern}},"resultType":"complete"${close}`;
      return partsOf('application/json', HEADS.modern, result, Buffer.from(tail));
    }
    const tail = `${own === '' ? '' : `,"_meta":{${own}}`}${close}\n\n`;
    return partsOf('text/event-stream', HEADS.legacy, result, Buffer.from(tail));
  };
}

function partsOf(type: string, head: Buffer, { plain, packed, isPacked }: Ready, tail: Buffer): QuickParts {
  const headers = { 'content-type': type, vary: 'accept-encoding' };
  if (!isPacked || packed === null) return { headers, parts: [head, plain, tail] };
  return { headers: { ...headers, 'content-encoding': 'gzip' }, parts: [gzipAround(head, packed, tail)] };
}
