import { html } from 'ghtml';
import { z } from 'zod';
import { TOKEN_SCOPES } from '../../../contract/connections.ts';
import { readBearer } from '../../../platform/http/caller-headers.ts';
import { refuseIssues } from '../../../platform/http/failure.ts';
import { guardBody } from '../../../platform/http/guard-request.ts';
import { type Incoming, type Outgoing, readBody } from '../../../platform/http/message.ts';
import type { ExtraRoute, InternalRequests } from '../../../platform/http/server-options.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { isPairingCode, isRecoveryCode, type SecretGuard } from '../../../platform/secrets.ts';
import {
  allowAttempt,
  cancelAttempt,
  proveAttempt,
  readAttemptStatus,
  reopenAttempt,
  type Shown,
} from '../../connect/attempts/attempts.ts';
import type { Interaction, Interactions } from '../../connect/interaction.ts';
import type { Market, Merchant } from '../../context.ts';
import { SHELL } from '../shell/assets.ts';
import { answerConnectHtml, answerConnectJson, answerConnectMessage } from './answer-connect.ts';
import { answerConnectPage, type ConnectDependencies } from './connect-page.ts';
import { renderInteraction, renderSecretField, SCOPE_WORDS } from './render-interaction.ts';

const PATH = '/mcp/connect/grants';

/** GET /mcp/connect/grants. The page is the same for everybody; its script sends the key and lists the merchant's grants. */
async function answerGrantsPage({ market }: ConnectDependencies, _incoming: Incoming): Promise<Outgoing> {
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

const decisionIn = z.strictObject({ decision: z.enum(['allow', 'cancel']) });

/**
 * POST /oauth/interaction/:uid/decide. Returns the next URL to the page's script instead of redirecting. Browsers check redirects after a
 * form against `form-action`, which would have to list every client's host.
 */
async function takeDecision(dependencies: ConnectDependencies, incoming: Incoming): Promise<Outgoing> {
  const { market, interactions, inside } = dependencies;
  mustBeOwnPage(incoming, market.config.baseUrl);
  const { decision } = readStep(inside.guard, incoming, decisionIn, []);
  const uid = incoming.params['uid'] ?? '';
  const interaction = await interactions.find(incoming, uid);
  if (interaction === null) throw new Refusal('connection_closed');
  if (decision === 'cancel') {
    await cancelAttempt(market, uid);
    const { location } = await interactions.cancel(incoming, interaction);
    return answerConnectJson({ status: 'canceled', location });
  }
  const { location } = await allowInteraction(dependencies, incoming, interaction);
  return answerConnectJson({ status: 'allowed', location });
}

async function allowInteraction(
  { market, interactions }: ConnectDependencies,
  incoming: Incoming,
  interaction: Interaction,
): Promise<{ location: string }> {
  const proof = await allowAttempt(market, interaction.uid);
  try {
    return await interactions.allow(incoming, interaction, proof);
  } catch (error) {
    // The key was replaced at the same moment, so nothing was granted. Reopen the attempt for the new key.
    if (error instanceof Refusal && error.reason === 'proof_missing') await reopenAttempt(market, interaction.uid);
    throw error;
  }
}

const INTERACTION = '/oauth/interaction/:uid';

/** Creates the pages of the hosted connector: instructions, grants and consent. */
export function createConnectPages(
  market: Market,
  interactions: Interactions,
  inside: InternalRequests<Merchant>,
): ExtraRoute[] {
  const dependencies: ConnectDependencies = { market, interactions, inside };
  const createRoute = (
    method: 'GET' | 'POST',
    path: string,
    answer: (dependencies: ConnectDependencies, incoming: Incoming) => Promise<Outgoing>,
  ): ExtraRoute => ({ method, path, ownOrigin: true, answer: (incoming) => answer(dependencies, incoming) });
  return [
    createRoute('GET', '/mcp/connect', answerConnectPage),
    createRoute('GET', '/mcp/connect/grants', answerGrantsPage),
    createRoute('GET', INTERACTION, openInteraction),
    createRoute('POST', `${INTERACTION}/prove`, takeProof),
    createRoute('POST', `${INTERACTION}/decide`, takeDecision),
  ];
}

const LONGEST_CODE = 200;
const proofIn = z.strictObject({ pairing_code: z.string().max(LONGEST_CODE).optional() });

/** POST /oauth/interaction/:uid/prove. Accepts the key in Authorization, or a pairing code in the body. */
async function takeProof({ market, interactions, inside }: ConnectDependencies, incoming: Incoming): Promise<Outgoing> {
  const { config } = market;
  mustBeOwnPage(incoming, config.baseUrl);
  const { pairing_code: code } = readStep(inside.guard, incoming, proofIn, ['pairing_code']);
  const shown = chooseProof(bearerOf(incoming, config.keyPrefix), code);
  const uid = incoming.params['uid'] ?? '';
  if ((await interactions.find(incoming, uid)) === null) throw new Refusal('connection_closed');
  const { handle } = await proveAttempt(market, { uid, shown, clientNetwork: incoming.clientNetwork });
  return answerConnectJson({ status: 'proven', handle });
}

/** Returns the bearer unchecked, because proveAttempt checks it and counts the tries. */
function bearerOf({ rawHeaders }: Incoming, prefix: string): string | null {
  return readBearer(rawHeaders, { isCode: (sent) => isRecoveryCode(sent, prefix) || isPairingCode(sent, prefix) });
}

function chooseProof(bearer: string | null, code: string | undefined): Shown {
  if (bearer !== null && code !== undefined) {
    throw new Refusal('invalid_fields', { detail: 'Send the key or a pairing code, not both.' });
  }
  if (bearer !== null) return { key: bearer };
  if (code !== undefined) return { pairingCode: code };
  throw new Refusal('key_required');
}

/** GET /oauth/interaction/:uid. Shows the request for access, only in the browser that started it. Changes nothing. */
async function openInteraction(dependencies: ConnectDependencies, incoming: Incoming): Promise<Outgoing> {
  try {
    return await showInteraction(dependencies, incoming);
  } catch (error) {
    const { status } = dependencies.inside.refuse(error, incoming);
    return answerConnectMessage(dependencies.market.random, {
      status,
      title: 'No answer just now',
      text: 'The market could not read what it needs. Nothing was allowed.',
      before: 'Wait a little, then load this page again. What this is about stands at ',
    });
  }
}

async function showInteraction(dependencies: ConnectDependencies, incoming: Incoming): Promise<Outgoing> {
  const { market, interactions } = dependencies;
  const uid = incoming.params['uid'] ?? '';
  const interaction = await interactions.find(incoming, uid);
  const attemptStatus = interaction === null ? null : await readAttemptStatus(market, uid);
  if (interaction === null || attemptStatus === null || attemptStatus.isOver) {
    return answerConnectMessage(market.random, {
      status: 410,
      title: 'This attempt to connect is over',
      text: 'It was decided, took too long, had too many wrong tries, or began in another browser. Begin again in the program that you want to connect.',
      before: 'How that is done stands at ',
    });
  }
  const main = renderInteraction(interaction, attemptStatus.provenAs);
  return answerConnectHtml(market.random, {
    title: 'Connect a program',
    ...{ main, path: '/mcp/connect', script: SHELL.consent },
  });
}

/** Parses the JSON of one step; an empty body counts as {}. Refuses misplaced secrets before it reports faults in the fields. */
function readStep<T>(guard: SecretGuard, incoming: Incoming, schema: z.ZodType<T>, secretFields: readonly string[]): T {
  const checked = schema.safeParse(readGuarded(guard, incoming, secretFields));
  if (!checked.success) throw refuseIssues(checked.error.issues, 'invalid_fields');
  return checked.data;
}

function readGuarded(guard: SecretGuard, { body, headers }: Incoming, secretFields: readonly string[]): unknown {
  if (body.length === 0) return {};
  let content: unknown;
  try {
    content = readBody(body, headers);
  } catch (error) {
    guardBody(guard, body, undefined);
    throw error;
  }
  guardBody(guard, content, secretFields);
  return content;
}

/**
 * Refuses requests that no page of this market sent. Current browsers send Sec-Fetch-Site. Old ones send Origin, which is never `null` for
 * `fetch`, whatever the referrer policy. Programs send neither, and have no cookie that another site could abuse.
 */
function mustBeOwnPage({ headers }: Pick<Incoming, 'headers'>, baseUrl: string): void {
  const site = headers['sec-fetch-site'];
  const { origin } = headers;
  const isOwn =
    site === undefined ? origin === undefined || origin === new URL(baseUrl).origin : site === 'same-origin';
  if (!isOwn) throw new Refusal('origin_refused');
}
