import { html } from 'ghtml';
import type { Incoming, Outgoing } from '../../../platform/http/message.ts';
import type { InternalRequests } from '../../../platform/http/server-options.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Interactions } from '../../connect/interaction.ts';
import type { Market, Merchant } from '../../context.ts';
import { type Document, heading, list, steps, text } from '../../guide/guide.ts';
import { chooseForm, renderMarkdown, renderText } from '../answer-document.ts';
import { SHELL } from '../shell/assets.ts';
import { answerConnectHtml, answerConnectJson, answerConnectText } from './answer-connect.ts';

const PATH = '/mcp/connect';

/** GET /mcp/connect. Describes the hosted connector, and how to connect each program. */
export async function answerConnectPage({ market }: ConnectDependencies, { headers }: Incoming): Promise<Outgoing> {
  const { accept } = headers;
  // MCP clients request an event stream here, which this page does not offer.
  if (accept?.includes('text/event-stream')) throw new Refusal('method_not_allowed', { headers: { allow: 'POST' } });
  const page = connectText(market.config.baseUrl);
  const form = chooseForm(accept);
  if (form === 'text') return answerConnectText(renderMarkdown(connectDocument(page)));
  if (form === 'json') return answerConnectJson(toJson(page, market.config.baseUrl));
  return answerConnectHtml(market.random, {
    title: page.title,
    ...{ main: renderConnect(page), path: PATH, script: SHELL.copying },
  });
}

function toJson({ title, summary, url, facts, hosts }: ConnectText, baseUrl: string) {
  return {
    name: title,
    summary,
    url,
    facts,
    hosts: hosts.map(({ name, steps, block }) => ({ name, steps, to_copy: block?.text ?? url })),
    grants: `${baseUrl}${PATH}/grants`,
    join: `${baseUrl}/join`,
    with_a_key: `${baseUrl}/mcp`,
  };
}

function renderConnect({ title, summary, url, facts, hosts, reach }: ConnectText): string {
  return html`<h1>${title}</h1>
<p class="summary">${summary}</p>
!${renderCopy('address', 'The address to paste', url, 'h2')}
!${reach === null ? '' : html`<div class="notice warn"><p>${reach}</p></div>`}
<p id="said" class="heard" role="status"></p>
<h2>What it is</h2>
<ul>!${facts.map((fact) => html`<li>!${renderText(fact)}</li>`)}</ul>
<p>No store yet? <a href="/join">Open one</a> first. What you have allowed so far is at <a href="/mcp/connect/grants">what acts for you</a>.</p>
!${hosts.map(renderHost).join('\n')}
<h2>Another program</h2>
<p>Any MCP client that speaks Streamable HTTP and OAuth works: give it the address above. One that takes a header of your own and runs on your machine can use <code>/mcp</code> with the key in Authorization instead.</p>`;
}

function renderHost({ name, steps, block }: Host, index: number): string {
  return html`<h2>${name}</h2>
<ol>!${steps.map((step) => html`<li>!${renderText(step)}</li>`)}</ol>
!${block === null ? '' : renderCopy(`host-${index}`, `The ${block.what} for ${name}`, block.text, 'h3')}`;
}

function renderCopy(id: string, what: string, text: string, level: 'h2' | 'h3'): string {
  return html`<section class="shown" aria-labelledby="${id}-name">
<${level} id="${id}-name">${what}</${level}>
<code class="key copied" id="${id}">${text}</code>
<div class="row"><button type="button" data-copy="${id}" hidden aria-describedby="${id}-name">Copy</button></div>
</section>`;
}

interface ConnectText {
  title: string;
  summary: string;
  url: string;
  facts: readonly string[];
  hosts: readonly Host[];
  /** Warning that only programs on the same computer can connect. Null if the address is https. */
  reach: string | null;
}

function connectText(baseUrl: string): ConnectText {
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
    hosts: hostsOf(url),
    reach: url.startsWith('https:')
      ? null
      : 'This market runs without https: only programs on the same computer reach it. Programs on the web need an https address.',
  };
}

function connectDocument(page: ConnectText): Document {
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

/** A program and how to connect it. Steps may contain `code` in backticks. */
interface Host {
  name: string;
  steps: readonly string[];
  /** Text to copy. Null if only the address is copied. */
  block: { what: string; text: string } | null;
}

const entry = (value: unknown): string => JSON.stringify(value, null, 2);

/** Menu names may change after this release; the address and the config entries stay valid. */
function hostsOf(url: string): readonly Host[] {
  return [
    {
      name: 'Claude, on the web and the desktop',
      steps: [
        'Open Customize (in older ones Settings), then Connectors, and choose “Add custom connector”.',
        'Paste the address, and choose “Add”.',
        'Choose “Connect” next to it. This market opens in a browser: show that the store is yours, then Allow.',
      ],
      block: null,
    },
    {
      name: 'Claude Code',
      steps: ['In a terminal, add it.', 'In Claude Code, type `/mcp`, choose openaisle, then “Authenticate”.'],
      block: { what: 'command', text: `claude mcp add --transport http openaisle ${url}` },
    },
    {
      name: 'ChatGPT',
      steps: [
        'Open Settings, then Apps or Connectors, then Advanced settings, and switch developer mode on.',
        'Choose “Create”, paste the address as the server’s, and OAuth as the authentication.',
        'This market opens in a browser: show that the store is yours, then Allow.',
      ],
      block: null,
    },
    {
      name: 'Cursor',
      steps: [
        'Put this into `~/.cursor/mcp.json`, or into `.cursor/mcp.json` of one project.',
        'Open Customize (in older ones Settings, then MCP), switch openaisle on, and choose “Connect”.',
      ],
      block: { what: 'entry', text: entry({ mcpServers: { openaisle: { url } } }) },
    },
    {
      name: 'VS Code',
      steps: [
        'Put this into `.vscode/mcp.json` of a folder, or into the user’s by “MCP: Open User Configuration”.',
        'Choose “Start” above the entry, and allow VS Code to sign in.',
      ],
      block: { what: 'entry', text: entry({ servers: { openaisle: { type: 'http', url } } }) },
    },
  ];
}

export interface ConnectDependencies {
  market: Market;
  interactions: Interactions;
  inside: InternalRequests<Merchant>;
}
