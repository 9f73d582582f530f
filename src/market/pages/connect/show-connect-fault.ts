import type { ShowFault } from '../../connect/show-fault.ts';
import type { Market } from '../../context.ts';
import { renderMessage } from '../ceremony/render-end.ts';
import { SHELL } from '../shell/assets.ts';
import { answerConnectHtml } from './answer-connect.ts';

/** What the authorization server has to tell a person, as a page like all others. */
export function showConnectFault({ random }: Pick<Market, 'random'>): ShowFault {
  return ({ status, title, text }) => {
    const link = {
      before: 'How a program is connected stands at ',
      address: '/mcp/connect',
      name: 'Connect a program',
    };
    const main = renderMessage({ title, text, link: { ...link, after: '.' } });
    return answerConnectHtml(random, { title, main, path: '/mcp/connect', script: SHELL.copying, status });
  };
}
