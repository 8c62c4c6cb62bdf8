/** An error of a service: an HTTP status, the error's name and mostly a message. */
export class ServiceError extends Error {
  readonly status: number;
  readonly type: string;
  readonly members: Record<string, string | number>;

  constructor(status: number, type: string, message = "", members: Record<string, string | number> = {}) {
    super(message);
    this.name = type;
    this.status = status;
    this.type = type;
    this.members = members;
  }
}

export const validation = (message: string) => new ServiceError(400, "ValidationException", message);
