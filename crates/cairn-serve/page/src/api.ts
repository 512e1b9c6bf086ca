// Calls to the server, with the token in a header. Knows no page.

import type { Attempt, TaskStatus, Why } from "./contract";
import { refusal } from "./stream";

export class Api {
  constructor(public token: string) {}

  private async ask(path: string, options: RequestInit = {}, token = this.token): Promise<Response> {
    const json: Record<string, string> = options.body === undefined ? {} : { "Content-Type": "application/json" };
    const headers = { Authorization: `Bearer ${token}`, ...json };
    const response = await fetch(path, { ...options, headers, cache: "no-store" });
    if (!response.ok) throw await refusal(response);
    return response;
  }

  async names(): Promise<string[]> {
    return (await (await this.ask("/api/v1/names")).json()) as string[];
  }

  async task(name: string): Promise<TaskStatus> {
    return (await (await this.ask(`/api/v1/tasks/${encodeURIComponent(name)}`)).json()) as TaskStatus;
  }

  async attempts(name: string): Promise<Attempt[]> {
    return (await (await this.ask(`/api/v1/tasks/${encodeURIComponent(name)}/attempts`)).json()) as Attempt[];
  }

  /** The end of what its latest attempt printed. */
  async log(name: string): Promise<string> {
    return (await this.ask(`/api/v1/tasks/${encodeURIComponent(name)}/log?tail=8000`)).text();
  }

  async why(name: string): Promise<Why> {
    return (await (await this.ask(`/api/v1/why/${encodeURIComponent(name)}`)).json()) as Why;
  }

  /** Asks for something that needs the admin's token. */
  async steer(what: "retry" | "cancel", task: string, token: string): Promise<string> {
    const body = JSON.stringify({ tasks: [task] });
    const answer = await this.ask(`/api/v1/${what}`, { method: "POST", body }, token);
    const { refused } = (await answer.json()) as { refused: { why: string }[] };
    return refused[0]?.why ?? "";
  }

  async report(): Promise<Blob> {
    return (await this.ask("/api/v1/report")).blob();
  }
}
