import type { EndpointShape } from '../contract/endpoint.ts';
import type { LooseGiven } from './call-types.ts';

/** Where a call goes and with what. */
export function buildRequest(
  endpoint: EndpointShape,
  given: LooseGiven,
  config: { baseUrl: string; key: string | undefined },
): { url: string; init: RequestInit } {
  const headers: Record<string, string> = { accept: 'application/json, application/problem+json' };
  const bearer = bearerFor(endpoint, given, config.key);
  if (bearer !== undefined) headers['authorization'] = `Bearer ${bearer}`;
  if (endpoint.payment === true) {
    if (given.payment !== undefined) headers[given.payment.name] = given.payment.value;
    if (given.deliveryToken !== undefined) headers['X-Delivery-Token'] = given.deliveryToken;
  }
  const mayBeLost = endpoint.payment === true || endpoint.claim === true;
  if (mayBeLost && given.recoverySlip !== undefined) headers['X-Recovery-Slip'] = given.recoverySlip;
  // A redirect would carry key and proof to an address that the caller did not choose.
  const init: RequestInit = { method: endpoint.method, headers, redirect: 'manual' };
  if (given.body !== undefined) {
    headers['content-type'] = 'application/json';
    init.body = JSON.stringify(given.body);
  }
  return { url: config.baseUrl + fillPath(endpoint.path, given.params ?? {}) + queryText(given.query ?? {}), init };
}

/** The origin (and path prefix, if any) without the last slash. */
export function readBaseUrl(given: string): string {
  const url = new URL(given);
  const plain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!plain || !['http:', 'https:'].includes(url.protocol)) {
    throw new TypeError('baseUrl must be an http or https address without credentials, query or fragment');
  }
  return url.href.replace(/\/+$/, '');
}

// The key goes where the contract has a use for it and nowhere else: audit routes never see one (W1).
function bearerFor(endpoint: EndpointShape, given: LooseGiven, key: string | undefined): string | undefined {
  if (endpoint.auth === 'staged_key') return given.key;
  const takesKey = endpoint.auth === 'key' || endpoint.auth === 'optional_key' || endpoint.auth === 'maintainer';
  return takesKey ? key : undefined;
}

function fillPath(path: string, params: Readonly<Record<string, unknown>>): string {
  return path.replace(/:([a-z_]+)/g, (_, name: string) => {
    const text = String(params[name] ?? '');
    // Dot segments survive percent-encoding and would lead to another route.
    if (/^\.{0,2}$/.test(text)) throw new TypeError(`${name} cannot stand in a path`);
    return encodeURIComponent(text);
  });
}

function queryText(query: Readonly<Record<string, unknown>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.append(name, String(value));
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}
