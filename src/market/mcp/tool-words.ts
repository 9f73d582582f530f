import { type EndpointName, endpoints } from '../../contract/index.ts';
import { META, TOOLS } from '../../contract/tools.ts';

/** Our own words of an answer: what merchants wrote stays as it is. */
const OUR_WORDS: ReadonlySet<string> = new Set(['next_step', 'detail', 'how_to_appeal']);

interface Spelling {
  pattern: RegExp;
  tool: string;
}

/** Addresses as our sentences spell them, and the tools that stand for them: the longest first, those with a method before those without. */
const SPELLINGS: readonly Spelling[] = spellings();

function spellings(): Spelling[] {
  const found = [...toolOfEndpoint()].flatMap(([name, tool]) => {
    const { method, path } = endpoints[name];
    const form = path.replaceAll(/:\w+/g, '(?::\\w+|<\\w+>|\\d+)');
    const end = '(?![\\w/<:])(?:\\?[\\w=&<>]*)?';
    const withMethod = {
      pattern: new RegExp(`\`?\\b${method} ${form}${end}\`?`, 'g'),
      tool,
      length: 1_000 + path.length,
    };
    // Without a method an address is one to look at.
    if (method !== 'GET') return [withMethod];
    return [withMethod, { pattern: new RegExp(`\`?(?<![\\w./:-])${form}${end}\`?`, 'g'), tool, length: path.length }];
  });
  return found.sort((one, other) => other.length - one.length);
}

/** The tool for each endpoint that has one; withdrawing has two endpoints. */
export function toolOfEndpoint(): ReadonlyMap<EndpointName, string> {
  const table = new Map<EndpointName, string>();
  for (const { name, asks } of TOOLS) {
    if (asks === 'front_door') continue;
    for (const { endpoint } of asks) table.set(endpoint, name);
  }
  return table.set('withdrawListing', 'withdraw_item');
}

/** What HTTP says in headers and tools in `_meta`; doors to keys are pages for a person. */
const OTHER_WORDS: readonly (readonly [pattern: RegExp, words: string])[] = [
  [
    /base64 of the x402 payload in X-PAYMENT \(v1\) or PAYMENT-SIGNATURE \(v2\)/g,
    `the x402 payload in _meta["${META.payment}"]`,
  ],
  [/X-PAYMENT(?: and | or )PAYMENT-SIGNATURE|X-PAYMENT|PAYMENT-SIGNATURE/g, `_meta["${META.payment}"]`],
  [/X-Delivery-Token/g, `_meta["${META.deliveryToken}"]`],
  [/X-Recovery-Slip/g, `_meta["${META.recoverySlip}"]`],
  [/(?:POST )?\/api\/(rotate|recovery|register|pair)\b/g, 'the page /$1'],
  [/the page \/register\b/g, 'the page /join'],
  [/one payment header\b/g, 'one payment'],
  [/\bBrowse the tool browse for\b/g, 'The tool browse shows'],
  [/\bSend the tool (\w+), or the tool (\w+),/g, 'Call $1 or $2'],
  [/\bthe address; the tool\b/g, 'id and handle; the tool'],
  [/\/rotate or the page \/rotate\b/g, 'the page /rotate'],
  [/\bRetry-After\b/g, 'retry_after_seconds'],
  [/\bGET \/ says/g, 'the tool front_door says'],
  [/\bGET the offer shows\b/g, 'the offer in the city shows'],
  [/\bSend the same request\b/g, 'Make the same call'],
  [/\bsend the same request\b/g, 'make the same call'],
  [/\bthe same request\b/g, 'the same call'],
];

/** A sentence of ours about addresses and headers, for a caller of tools. */
export function inToolWords(text: string): string {
  let said = text;
  for (const { pattern, tool } of SPELLINGS) {
    said = said.replace(pattern, (_found, at: number) => `${beginsSentence(said, at) ? 'The' : 'the'} tool ${tool}`);
  }
  for (const [pattern, words] of OTHER_WORDS) said = said.replace(pattern, words);
  return said;
}

function beginsSentence(text: string, at: number): boolean {
  return at === 0 || /[.] $/.test(text.slice(0, at));
}

/** The same answer with our sentences in the words of tools, and pages that go on as a call. */
export function answerInToolWords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(answerInToolWords);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => spoken(name, member)));
}

function spoken(name: string, member: unknown): [name: string, member: unknown] {
  if (typeof member !== 'string') return [name, answerInToolWords(member)];
  if (name === 'more_url') return ['more', callOf(member)];
  return [name, OUR_WORDS.has(name) ? inToolWords(member) : member];
}

/** The call of a tool that an address of ours stands for. */
function callOf(address: string): { tool: string; arguments: Record<string, string> } | null {
  const { pathname, searchParams } = new URL(address, 'http://market.invalid');
  for (const [name, tool] of toolOfEndpoint()) {
    const { method, path } = endpoints[name];
    if (method === 'GET' && path === pathname) return { tool, arguments: Object.fromEntries(searchParams) };
  }
  return null;
}
