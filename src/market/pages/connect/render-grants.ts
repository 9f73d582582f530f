import { html } from 'ghtml';
import { TOKEN_SCOPES } from '../../../contract/token-scopes.ts';
import type { Incoming, Outgoing } from '../../../platform/http/incoming.ts';
import { SHELL } from '../shell/assets.ts';
import { answerConnectHtml } from './answer-connect.ts';
import type { ConnectParts } from './connect-parts.ts';
import { renderSecretField } from './render-secret-field.ts';
import { SCOPE_WORDS } from './scope-words.ts';

const PATH = '/mcp/connect/grants';

/** GET /mcp/connect/grants: what may act for a merchant. The page itself is the same for everybody; its script asks with the key. */
export async function answerGrantsPage({ market }: ConnectParts, _incoming: Incoming): Promise<Outgoing> {
  return answerConnectHtml(market.random, {
    title: 'What acts for you',
    ...{ main: renderGrants(), path: PATH, script: SHELL.grants },
  });
}

function renderGrants(): string {
  const key = renderSecretField({
    id: 'merchant-key',
    label: 'Merchant key',
    hint: 'Sent in a header of its own. This page holds it until you leave or ten minutes are over, so that you can revoke.',
    type: 'password',
  });
  return html`<h1>What acts for you</h1>
<p class="summary">Programs that you allowed to act for your store, without its key. Each of them can be ended here, at once.</p>
<noscript><div class="notice danger">
<h2>This page needs its script</h2>
<p>It sends the key in a header of its own, so that it stands in no form and no address. Without it: GET /api/grants and POST /api/grants/:id/revoke, with the key in Authorization.</p>
</div></noscript>
<section id="ask" hidden>
<form id="by-key" autocomplete="off" novalidate>
!${key}
<div class="row"><button class="main" type="submit">Show them</button></div>
</form>
</section>
<p id="said" class="state" role="status"></p>
<section id="grants" tabindex="-1" aria-labelledby="grants-title" hidden>
<h2 id="grants-title">In force, and past</h2>
<p id="none" hidden>Nothing acts for this store, and nothing ever did. <a href="/mcp/connect">How to connect a program</a>.</p>
<ul class="grants" id="list"></ul>
</section>
<template id="grant">
<li>
<h3 tabindex="-1"><bdi data-name></bdi></h3>
<dl class="facts">
<dt>Known by</dt><dd data-host></dd>
<dt>Went back to</dt><dd><code data-redirect></code></dd>
<dt>May</dt><dd data-scopes></dd>
<dt>Allowed</dt><dd data-granted></dd>
<dt>Stands</dt><dd data-standing></dd>
</dl>
<div class="row"><button type="button" data-revoke>Revoke</button></div>
</li>
</template>
<dl hidden id="scope-words">!${TOKEN_SCOPES.map((scope) => html`<dt>${scope}</dt><dd>${SCOPE_WORDS[scope]}</dd>`)}</dl>
<h2>Another way to end everything</h2>
<p>A <a href="/rotate">new key</a> ends all of them together, and so does a <a href="/recovery">recovery</a>.</p>`;
}
