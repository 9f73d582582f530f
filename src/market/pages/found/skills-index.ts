import { createHash } from 'node:crypto';
import { SKILL_DESCRIPTION, SKILL_NAME } from './skill.ts';

export const SKILLS_PATH = '/.well-known/agent-skills/index.json';
export const SKILL_PATH = `/.well-known/agent-skills/${SKILL_NAME}/SKILL.md`;

/** Where a client finds the skill, and how it knows that it got it whole: the digest is that of the bytes served. */
export function skillsIndex(baseUrl: string, skill: string) {
  return {
    $schema: 'https://schemas.agentskills.io/discovery/0.2.0/schema.json',
    skills: [
      {
        name: SKILL_NAME,
        type: 'skill-md',
        description: SKILL_DESCRIPTION,
        url: `${baseUrl}${SKILL_PATH}`,
        digest: `sha256:${createHash('sha256').update(skill, 'utf8').digest('hex')}`,
      },
    ],
  };
}
