import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isPublicAddress } from './client-network.ts';
import { createPublicFetch, OutboundFailure, type PublicNetwork, readPublicJson } from './outbound-requests.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const FOUND = [{ address: '127.0.0.1', family: 4 }];
let answer: Answer;
let asked: IncomingMessage[] = [];
let resolved: string[] = [];
const server = createServer((incoming, response) => {
  asked.push(incoming);
  answer(incoming, response);
});
let port: number;

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
beforeEach(() => {
  asked = [];
  resolved = [];
  answer = (_incoming, response) => sendJson(response, { name: 'a document' });
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function sendJson(response: ServerResponse, value: unknown, type = 'application/json'): void {
  response.writeHead(200, { 'content-type': type }).end(JSON.stringify(value));
}

/** Like production, except that the only server counts as public and does not use TLS. */
function testNetwork(changed: Partial<PublicNetwork> = {}): PublicNetwork {
  return {
    resolve: async (host) => {
      resolved.push(host);
      return FOUND;
    },
    isPublic: (address) => address === '127.0.0.1',
    request,
    port,
    ...changed,
  };
}

async function whyOf(act: Promise<unknown>): Promise<string> {
  try {
    await act;
  } catch (error) {
    if (error instanceof OutboundFailure) return error.why;
    throw error;
  }
  return 'none';
}
const read = (url = 'https://host.example/client.json', changed?: Partial<PublicNetwork>) =>
  readPublicJson(url, createPublicFetch(testNetwork(changed)));

test('a document is read from the address that was looked at, and nothing is sent along', async () => {
  expect(await read('https://host.example/client.json?v=1')).toEqual({ name: 'a document' });
  expect(resolved).toEqual(['host.example']);
  expect(asked.map(({ url, method, headers }) => ({ url, method, headers }))).toEqual([
    {
      url: '/client.json?v=1',
      method: 'GET',
      headers: {
        host: 'host.example',
        accept: 'application/json',
        'accept-encoding': 'identity',
        'user-agent': 'openaisle',
        connection: 'close',
      },
    },
  ]);
});

describe('an address that is none for the public is not asked', () => {
  test.each([
    ...['http://host.example/', 'https://host.example:8443/', 'https://host.example:80/', 'ftp://host.example/'],
    ...['https://127.0.0.1/', 'https://127.1/', 'https://0x7f000001/', 'https://2130706433/', 'https://[::1]/'],
    ...['https://[::ffff:127.0.0.1]/', 'https://8.8.8.8/', 'https://user@host.example/', 'https://u:p@host.example/'],
    ...[
      'https:///',
      'https://',
      'file:///etc/passwd',
      'data:application/json,{}',
      'x',
      '',
      `https://host.example/${'a'.repeat(2_000)}`,
    ],
  ])('%s', async (url) => {
    expect(await whyOf(read(url))).toBe('address');
    expect(resolved).toEqual([]);
    expect(asked).toEqual([]);
  });

  test('the default port may be written out', async () => {
    expect(await read('https://host.example:443/client.json')).toEqual({ name: 'a document' });
  });

  test.each([
    ['one of this machine', ['127.0.0.1']],
    ['one of the neighbourhood', ['10.0.0.7']],
    ['one that the cloud keeps its secrets at', ['169.254.169.254']],
    ['a mapped one', ['::ffff:10.0.0.7']],
    ['one of IPv6', ['fd00::7']],
    ['a public one, and then a private one', ['93.184.216.34', '192.168.0.1']],
    ['a private one, and then a public one', ['::1', '2606:4700::1111']],
  ])('a name that leads to %s', async (_name, addresses) => {
    const resolve = async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    expect(await whyOf(read(undefined, { resolve, isPublic: isPublicAddress }))).toBe('address');
    expect(asked).toEqual([]);
  });
});

test('the name is looked up once: what it leads to a moment later is of no interest', async () => {
  let times = 0;
  const resolve = async () => {
    times += 1;
    return times === 1 ? FOUND : [{ address: '10.0.0.7', family: 4 }];
  };
  expect(await read(undefined, { resolve })).toEqual({ name: 'a document' });
  expect(times).toBe(1);
});

describe('nothing that can be read is', () => {
  test.each<[string, Answer, string]>([
    [
      'a redirect',
      (_i, response) => response.writeHead(302, { location: 'https://host.example/other' }).end(),
      'redirect',
    ],
    ['a redirect to here', (_i, response) => response.writeHead(307, { location: '/client.json' }).end(), 'redirect'],
    ['an answer that it is not there', (_i, response) => response.writeHead(404).end('{}'), 'status'],
    ['a failure of the host', (_i, response) => response.writeHead(503).end('{}'), 'status'],
    ['an answer without a body', (_i, response) => response.writeHead(204).end(), 'status'],
    ['a page', (_i, response) => sendJson(response, {}, 'text/html'), 'not_json'],
    ['something of no type', (_i, response) => response.writeHead(200).end('{}'), 'not_json'],
    ['no JSON', (_i, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{'), 'not_json'],
    [
      'a document that is packed',
      (_i, response) =>
        response
          .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
          .end(gzipSync('{"name":"a document"}')),
      'not_json',
    ],
    ['a document of a byte too many', (_i, response) => sendJson(response, 'a'.repeat(65_535)), 'too_large'],
    ['a connection that is cut', (incoming) => incoming.socket.destroy(), 'unreachable'],
  ])('%s', async (_name, given, why) => {
    answer = given;
    expect(await whyOf(read())).toBe(why);
    expect(asked).toHaveLength(1);
  });

  test('a name that leads nowhere', async () => {
    expect(await whyOf(read(undefined, { resolve: async () => [] }))).toBe('unreachable');
    const resolve = () => Promise.reject(new Error('no such name'));
    expect(await whyOf(read(undefined, { resolve }))).toBe('unreachable');
  });

  test.each<[string, Answer | null]>([
    ['a document that does not begin', () => {}],
    [
      'a document that does not end',
      (_i, response) => response.writeHead(200, { 'content-type': 'application/json' }).write('{'),
    ],
    ['a name that is looked up for ever', null],
  ])('%s, in time', async (_name, given) => {
    if (given !== null) answer = given;
    const never = given === null ? { resolve: () => new Promise<never>(() => {}) } : {};
    const url = 'https://host.example/client.json';
    expect(await whyOf(readPublicJson(url, createPublicFetch(testNetwork(never)), 100))).toBe('timeout');
  });

  test('a document of the largest size is read, in a type of its own', async () => {
    answer = (_incoming, response) => sendJson(response, 'a'.repeat(65_534), 'application/client+json; charset=utf-8');
    expect(await read()).toHaveLength(65_534);
  });
});
