import type { MarketConfig } from '../../context.ts';
import type { GuideFacts } from '../../guide/guide.ts';

/** What of an instance its plain pages speak of: the settings that official facts are made from. */
export type DocumentFacts = GuideFacts & Pick<MarketConfig, 'sourceUrl' | 'contactUrl' | 'deploymentCommit'>;
