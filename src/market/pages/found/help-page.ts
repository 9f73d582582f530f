import type { PageAnswer } from '../../../platform/http/server-options.ts';
import type { MarketConfig } from '../../context.ts';
import { text } from '../../guide/document.ts';
import { guide } from '../../guide/guide.ts';
import { readHelp } from '../../guide/read-help.ts';
import { answerDocument } from '../answer-document.ts';

/** The guide alone, without the list of addresses and without what happened last. */
export function helpPage(config: MarketConfig, accept: string | undefined): PageAnswer {
  const document = {
    title: 'Help',
    summary: 'How to buy, sell and get a key here, step by step.',
    blocks: [...guide(config), text('Every address of this market stands on its [front door](/).')],
  };
  return answerDocument(accept, { document, json: readHelp(config), path: '/help' });
}
