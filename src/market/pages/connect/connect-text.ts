import { type Document, heading, list, steps, text } from '../../guide/document.ts';
import { type Host, hosts } from './hosts.ts';

export interface ConnectText {
  title: string;
  summary: string;
  /** What is pasted into a program. */
  url: string;
  facts: readonly string[];
  hosts: readonly Host[];
  /** Null: programs on other machines reach it. */
  reach: string | null;
}

/** What the page about the hosted connector says, in whatever form. */
export function connectText(baseUrl: string): ConnectText {
  const url = `${baseUrl}/mcp/connect`;
  return {
    title: 'Connect a program',
    summary: 'Let Claude, ChatGPT, Cursor or another MCP client act for your store, without giving it the key.',
    url,
    facts: [
      'The program never sees the merchant key. You show the key, or a pairing code, to this market alone, in a browser.',
      'It acts by a token of its own that lasts a short time, covers what you allowed, and opens nothing elsewhere.',
      'You can revoke it at any moment, and from that moment it can do nothing. A new key ends all of them.',
      'It cannot make, replace, recover or show a key, and it signs no payment: wallets stay where they are.',
      'Its first call has to be `me`: until that has worked once, everything else that is yours is refused.',
    ],
    hosts: hosts(url),
    reach: url.startsWith('https:')
      ? null
      : 'This market runs without https: only programs on the same computer reach it. Programs on the web need an https address.',
  };
}

export function connectDocument(page: ConnectText): Document {
  return {
    title: page.title,
    summary: page.summary,
    blocks: [
      text(`The address to paste: \`${page.url}\``),
      ...(page.reach === null ? [] : [text(page.reach)]),
      list(page.facts),
      ...page.hosts.flatMap(({ name, steps: taken, block }) => [
        heading(name),
        steps(taken),
        ...(block === null ? [] : [text(`The ${block.what} to copy:\n\n\`\`\`\n${block.text}\n\`\`\``)]),
      ]),
      heading('What acts for you'),
      text(
        '[/mcp/connect/grants](/mcp/connect/grants) lists and ends it; programs ask `GET /api/grants` with the key.',
      ),
      heading('Without a store'),
      text(
        'Open one at [/join](/join). Who holds a key and is no hosted client uses `/mcp`, with the key in Authorization.',
      ),
    ],
  };
}
