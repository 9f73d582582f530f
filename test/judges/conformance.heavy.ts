import { afterEach, describe, expect, test } from 'vitest';
import type { Legacy } from './fixture/start-fixture.ts';
import { type Fixture, startFixture } from './fixture/start-fixture.ts';
import { type Check, faultsOf, type Revision, reportRun, runSuite, scoredScenarios } from './mcp-judge.ts';

/**
 * Scenarios of 2025 whose second request must find the state of the first: the server asks its client, or streams of a session are counted.
 */
const NEED_SESSIONS = [
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
  'server-sse-multiple-streams',
  'tools-call-elicitation',
  'tools-call-sampling',
];

describe('the mount of /mcp, before the official conformance suite with the suite’s own tools on it', () => {
  let fixture: Fixture | undefined;
  afterEach(async () => {
    await fixture?.close();
    fixture = undefined;
  });

  /** Runs every scenario that the suite scores for a revision, and reports all results. */
  const judge = async (revision: Revision, legacy: Legacy) => {
    fixture = await startFixture(legacy);
    const scored = await scoredScenarios(revision);
    const run = await runSuite(['server', '--url', fixture.url, '--requirements', revision]);
    reportRun(`conformance ${revision}, ${legacy}`, run, scored);
    return { code: run.code, scored, checks: run.checks.filter(({ scenario }) => scored.includes(scenario)) };
  };
  const withSuccess = (checks: readonly Check[]): string[] => [
    ...new Set(checks.flatMap(({ scenario, status }) => (status === 'SUCCESS' ? [scenario] : []))),
  ];

  test('has full marks in revision 2026-07-28, in the way that production answers', async () => {
    const { checks, code, scored } = await judge('2026-07-28', 'stateless');
    expect(scored).toHaveLength(37);
    expect(faultsOf(checks)).toEqual([]);
    expect(withSuccess(checks).sort()).toEqual(scored.toSorted());
    expect(code).toBe(0);
  });

  test('has full marks in revision 2025-11-25, with sessions for what asks the client', async () => {
    const { checks, code, scored } = await judge('2025-11-25', 'sessions');
    expect(scored).toHaveLength(30);
    expect(faultsOf(checks)).toEqual([]);
    expect(withSuccess(checks).sort()).toEqual(scored.toSorted());
    expect(code).toBe(0);
  });

  test('passes everything of revision 2025-11-25 but that in the way that production answers', async () => {
    const { checks, scored } = await judge('2025-11-25', 'stateless');
    const alone = scored.filter((scenario) => !NEED_SESSIONS.includes(scenario));
    const judged = checks.filter(({ scenario }) => alone.includes(scenario));
    expect(faultsOf(judged)).toEqual([]);
    expect(withSuccess(judged).sort()).toEqual(alone.sort());
    // An expected fault that now passes must be removed from the list.
    const faulty = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
    expect([...new Set(faulty.map(({ scenario }) => scenario))].sort()).toEqual(NEED_SESSIONS);
  });
});
