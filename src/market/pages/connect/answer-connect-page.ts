import { html } from 'ghtml';
import type { Incoming, Outgoing } from '../../../platform/http/message.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { type Document, heading, list, steps, text } from '../../guide/document.ts';
import { chooseForm } from '../choose-form.ts';
import { renderMarkdown } from '../render-markdown.ts';
import { SHELL } from '../shell/assets.ts';
import { answerConnectHtml, answerConnectJson, answerConnectText } from './answer-connect.ts';
import type { ConnectParts } from './connect-parts.ts';
import { type Host, hosts } from './hosts.ts';

const PATH = '/mcp/connect';

/** GET /mcp/connect: what the hosted connector is, and how each program is connected. */
export async function answerConnectPage({ market }: ConnectParts, { headers }: Incoming): Promise<Outgoing> {
  const { accept } = headers;
  // An MCP client that would like a stream of messages: there is none here.
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
<ul>!${facts.map((fact) => html`<li>!${renderCoded(fact)}</li>`)}</ul>
<p>No store yet? <a href="/join">Open one</a> first. What you have allowed so far is at <a href="/mcp/connect/grants">what acts for you</a>.</p>
!${hosts.map(renderHost).join('\n')}
<h2>Another program</h2>
<p>Any MCP client that speaks Streamable HTTP and OAuth works: give it the address above. One that takes a header of your own and runs on your machine can use <code>/mcp</code> with the key in Authorization instead.</p>`;
}

function renderHost({ name, steps, block }: Host, index: number): string {
  return html`<h2>${name}</h2>
<ol>!${steps.map((step) => html`<li>!${renderCoded(step)}</li>`)}</ol>
!${block === null ? '' : renderCopy(`host-${index}`, `The ${block.what} for ${name}`, block.text, 'h3')}`;
}

function renderCopy(id: string, what: string, text: string, level: 'h2' | 'h3'): string {
  return html`<section class="shown" aria-labelledby="${id}-name">
<${level} id="${id}-name">${what}</${level}>
<code class="key copied" id="${id}">${text}</code>
<div class="row"><button type="button" data-copy="${id}" hidden aria-describedby="${id}-name">Copy</button></div>
</section>`;
}

function renderCoded(text: string): string {
  // Splitting by one group puts what it caught at the odd places.
  return text
    .split(/`([^`]+)`/)
    .map((piece, index) => (index % 2 === 0 ? html`${piece}` : html`<code>${piece}</code>`))
    .join('');
}

interface ConnectText {
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
    hosts: hosts(url),
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
