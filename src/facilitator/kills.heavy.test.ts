/**
 * Runs a real process with a real chain and the real token: settlements of many callers at once, and SIGKILL at random moments. The seed is
 * printed; repeat a run with OPENAISLE_SETTLEMENT_SEED, OPENAISLE_SETTLEMENTS and OPENAISLE_SETTLEMENT_KILLS, here and in test/deep.
 */
import { testRandomKills } from '../../test/support/facilitator-kills.ts';

testRandomKills('killed in the middle, it neither loses a settlement nor sends two', { settlements: 200, kills: 5 });
