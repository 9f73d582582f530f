/** A program that people use, and how it is connected. Steps may hold `code` in backticks. */
export interface Host {
  name: string;
  steps: readonly string[];
  /** To be copied; null: the address alone is what is copied. */
  block: { what: string; text: string } | null;
}

const entry = (value: unknown): string => JSON.stringify(value, null, 2);

/** Names of menus change more often than a market is restarted; the address and the entries do not. */
export function hosts(url: string): readonly Host[] {
  return [
    {
      name: 'Claude, on the web and the desktop',
      steps: [
        'Open Customize (in older ones Settings), then Connectors, and choose “Add custom connector”.',
        'Paste the address, and choose “Add”.',
        'Choose “Connect” beside it. This market opens in a browser: show that the store is yours, then Allow.',
      ],
      block: null,
    },
    {
      name: 'Claude Code',
      steps: ['In a terminal, add it.', 'In Claude Code, type `/mcp`, choose openaisle, then “Authenticate”.'],
      block: { what: 'command', text: `claude mcp add --transport http openaisle ${url}` },
    },
    {
      name: 'ChatGPT',
      steps: [
        'Open Settings, then Apps or Connectors, then Advanced settings, and switch developer mode on.',
        'Choose “Create”, paste the address as the server’s, and OAuth as the authentication.',
        'This market opens in a browser: show that the store is yours, then Allow.',
      ],
      block: null,
    },
    {
      name: 'Cursor',
      steps: [
        'Put this into `~/.cursor/mcp.json`, or into `.cursor/mcp.json` of one project.',
        'Open Customize (in older ones Settings, then MCP), switch openaisle on, and choose “Connect”.',
      ],
      block: { what: 'entry', text: entry({ mcpServers: { openaisle: { url } } }) },
    },
    {
      name: 'VS Code',
      steps: [
        'Put this into `.vscode/mcp.json` of a folder, or into the user’s by “MCP: Open User Configuration”.',
        'Choose “Start” above the entry, and allow VS Code to sign in.',
      ],
      block: { what: 'entry', text: entry({ servers: { openaisle: { type: 'http', url } } }) },
    },
  ];
}
