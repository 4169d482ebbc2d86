import type { FailureCode } from '../../plugin/plugin.ts';

/** What to do about a failed agent, as in docs/reference/errors.md. */
export const failureHints: Record<FailureCode, string> = {
  not_installed: 'Install the program as the error says.',
  not_logged_in: 'Log in as troupe doctor says.',
  auth: 'Check that the key is current and of this provider.',
  quota: 'Wait, add credit, or use another engine.',
  budget: 'Continue the agent, or give it a smaller task.',
  rate_limited: 'Wait as long as the error says; start fewer at once.',
  model_not_found: 'Leave the model out, or use an alias of the engine.',
  permission_denied: 'Read the error; a wider access may be needed.',
  context_too_long: 'Shorten the prompt, or start a new session.',
  network: 'Check connection, proxy and baseUrl; start it again.',
  provider_error: 'Start it again later.',
  content_refused: 'Rephrase the task, or use another engine.',
  bad_output: "Read the raw output in the agent's folder.",
  output_limit: 'Ask for less, or raise the limit.',
  storage_full: 'Free space on the disk of the record; start it again.',
  session_busy: 'Wait for the other turn of the session, then continue again.',
  timeout: 'Raise the time limit, or make the task smaller.',
  idle_timeout: 'Start it again; raise idleTimeoutSeconds for silent work.',
  canceled: 'Nothing to do.',
  interrupted: 'Start it again, or continue its session.',
  spawn_failed: 'Read the error; run troupe doctor.'
};
