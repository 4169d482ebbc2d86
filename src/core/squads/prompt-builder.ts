/** Whether an agent has a chat, and knows its role from there. */
export type ChatState = 'none' | 'new' | 'existing';

const footer = `---

# Setup & Reporting Rules

If you notice any setup or environment problems that prevent you from completing your task,
you MUST clearly report them as SETUP / ENVIRONMENT ISSUES.

Explain what you observed and suggest specific steps for the human to fix.
Do not pretend the task succeeded if the environment blocks you.`;

/**
 * What a member is told: its role, its task and how to report, byte for byte
 * the layout of docs/squads.md. A chat that exists knows the role already.
 */
export function buildPrompt(
  roleBody: string,
  task: string,
  chat: ChatState
): string {
  const role = ['# Role', roleBody, '---'];
  const heading = chat === 'new' ? '# Initial Task' : '# Task';
  return [...(chat === 'existing' ? [] : role), heading, task, footer].join(
    '\n\n'
  );
}
