import { type Page, type PageAnswer, type PageCall, page } from '../../../platform/http/server-options.ts';
import type { Market } from '../../context.ts';
import type { Document } from '../../guide/document.ts';
import { topicsOf } from '../../guide/read-topics.ts';
import { readPublishedFacts } from '../../official/store.ts';
import { answerDocument, answerText } from '../answer-document.ts';
import { NOTICES_PATH, THIRD_PARTY_NOTICES } from '../shell/third-party-notices.ts';
import { aboutDocument } from './about.ts';
import { changelogDocument, changelogJson } from './changelog.ts';
import { cityBridgeDocument } from './city-bridge.ts';
import { SECURITY_PATH } from './contact.ts';
import { docsDocument, docsJson } from './docs-index.ts';
import { privacyDocument } from './privacy.ts';
import { robotsText } from './robots-text.ts';
import { securityText } from './security-text.ts';
import { supportDocument } from './support.ts';
import { termsDocument } from './terms.ts';

/** What there is to say about this market itself, in the three forms of every document, and two texts for programs. */
export function createDocuments({ config, clock, database }: Pick<Market, 'config' | 'clock' | 'database'>): Page[] {
  const robots = robotsText();
  return [
    written('/about', async () => {
      // Merchant 1 may join while this process runs.
      const { maintainer } = await readPublishedFacts(database, config.network.chainId, config.facilitatorUrl);
      return { document: aboutDocument(config, maintainer) };
    }),
    fixed('/terms', termsDocument()),
    fixed('/privacy', privacyDocument(config)),
    fixed('/support', supportDocument(config)),
    fixed('/changelog', changelogDocument(), changelogJson()),
    fixed('/city-bridge', cityBridgeDocument(config)),
    fixed('/docs', docsDocument(config), docsJson(config)),
    textPage('/robots.txt', () => robots),
    textPage(NOTICES_PATH, () => THIRD_PARTY_NOTICES),
    textPage(SECURITY_PATH, () => securityText(config, clock.now())),
  ];
}

interface Written {
  document: Document;
  /** What programs get in addition to title, summary and topics. */
  more?: object;
}

function fixed(path: string, document: Document, more: object = {}): Page {
  return written(path, () => ({ document, more }));
}

function written(path: string, write: () => Written | Promise<Written>): Page {
  const handler = async ({ accept }: PageCall): Promise<PageAnswer> => {
    const { document, more = {} } = await write();
    const { title, summary, blocks } = document;
    return answerDocument(accept, { document, json: { title, summary, ...more, topics: topicsOf(blocks) }, path });
  };
  return page({ method: 'GET', path, handler });
}

function textPage(path: string, write: () => string): Page {
  return page({ method: 'GET', path, handler: () => answerText(write()) });
}
