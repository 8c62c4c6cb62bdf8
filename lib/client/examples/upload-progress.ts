import { imageOf } from "colophon-client";

/** Sets an avatar, and reports the share that has been sent. `fetch` has no progress of uploads. */
export async function uploadAvatar(id: number, file: Blob, onProgress: (share: number) => void): Promise<string> {
  const request = new XMLHttpRequest();
  request.open("POST", `http://localhost:3000/admin-contributors/update-avatar/${id}`);
  request.withCredentials = true;
  request.setRequestHeader("Content-Type", "application/json");
  request.upload.onprogress = ({ loaded, total }) => onProgress(loaded / total);
  const body = JSON.stringify({ image: await imageOf(file) });
  await new Promise((resolve) => {
    request.onloadend = resolve;
    request.send(body);
  });
  return request.status === 200 ? "saved" : request.responseText || "No response";
}
