import { gzipSync } from 'node:zlib';
import { etagOf, matchesEtag } from '../../platform/http/etag.ts';
import type { QuickAnswer, QuickRead } from '../../platform/http/prepared.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import type { MarketConfig } from '../context.ts';
import type { EventTail } from '../events/event-tail.ts';
import { chooseForm } from './choose-form.ts';
import { frontDoor } from './front-door.ts';

interface Ready {
  version: number;
  etag: string;
  head: string[];
  body: Buffer;
}

/** The front door in its three forms, written anew when something has happened. */
export function createQuickFrontDoor(config: MarketConfig, events: EventTail): (read: QuickRead) => QuickAnswer | null {
  const ready = new Map<string, Ready>();
  return (read) => {
    const form = `${chooseForm(read.accept)}${read.acceptsGzip ? '.gz' : ''}`;
    const version = events.version();
    let page = ready.get(form);
    if (page === undefined || page.version !== version) {
      page = write(frontDoor(config, events, read), read, version);
      ready.set(form, page);
    }
    const { etag, head, body } = page;
    if (read.ifNoneMatch !== undefined && matchesEtag(read.ifNoneMatch, etag)) return { status: 304, etag, head };
    return { status: 200, etag, head, body };
  };
}

function write({ headers, body: text }: PageAnswer, { acceptsGzip }: QuickRead, version: number): Ready {
  const plain = Buffer.from(text);
  const body = acceptsGzip ? gzipSync(plain) : plain;
  const head = Object.entries({
    ...headers,
    vary: 'accept, accept-encoding',
    ...(acceptsGzip ? { 'content-encoding': 'gzip' } : {}),
  }).flat();
  return { version, etag: etagOf(body), head, body };
}
