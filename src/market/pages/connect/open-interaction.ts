import type { Incoming, Outgoing } from '../../../platform/http/incoming.ts';
import { readStanding } from '../../connect/proofs/decide-attempt.ts';
import { renderMessage } from '../ceremony/render-end.ts';
import { SHELL } from '../shell/assets.ts';
import { answerConnectHtml } from './answer-connect.ts';
import type { ConnectParts } from './connect-parts.ts';
import { renderInteraction } from './render-interaction.ts';

/** GET /oauth/interaction/:uid: what a program asks for, for the browser that it was asked in. Changes nothing. */
export async function openInteraction(parts: ConnectParts, incoming: Incoming): Promise<Outgoing> {
  try {
    return await open(parts, incoming);
  } catch (error) {
    const { status } = parts.inside.refuse(error, incoming);
    return answerMessage(parts, status, {
      title: 'No answer just now',
      text: 'The market could not read what it needs. Nothing was allowed.',
      link: { before: 'Wait a little, then load this page again. What this is about stands at ', after: '.' },
    });
  }
}

async function open(parts: ConnectParts, incoming: Incoming): Promise<Outgoing> {
  const { market, interactions } = parts;
  const uid = incoming.params['uid'] ?? '';
  const interaction = await interactions.find(incoming, uid);
  const standing = interaction === null ? null : await readStanding(market, uid);
  if (interaction === null || standing === null || standing.isOver) {
    return answerMessage(parts, 410, {
      title: 'This attempt to connect is over',
      text: 'It was decided, took too long, had too many wrong tries, or began in another browser. Begin again in the program that you want to connect.',
      link: { before: 'How that is done stands at ', after: '.' },
    });
  }
  const main = renderInteraction(interaction, standing.provenAs);
  return answerConnectHtml(market.random, {
    title: 'Connect a program',
    ...{ main, path: '/mcp/connect', script: SHELL.consent },
  });
}

interface Message {
  title: string;
  text: string;
  link: { before: string; after: string };
}

function answerMessage({ market }: ConnectParts, status: number, { title, text, link }: Message): Outgoing {
  const main = renderMessage({ title, text, link: { ...link, address: '/mcp/connect', name: 'Connect a program' } });
  return answerConnectHtml(market.random, { title, main, path: '/mcp/connect', script: SHELL.copying, status });
}
