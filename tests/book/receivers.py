"""A webhook's receiver at port 8025, and a mail server at 2525: they take whatever they are sent."""

import http.server
import socketserver
import threading


class Webhook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Mail(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b"220 mail.example.org\r\n")
        is_text = False
        for line in self.rfile:
            line = line.strip()
            if is_text:
                if line != b".":
                    continue
                is_text, answer = False, b"250 taken"
            elif line.upper() == b"DATA":
                is_text, answer = True, b"354 go on"
            elif line.upper() == b"QUIT":
                self.wfile.write(b"221 bye\r\n")
                return
            else:
                answer = b"250 mail.example.org"
            self.wfile.write(answer + b"\r\n")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads = True, True


mail = Server(("127.0.0.1", 2525), Mail)
threading.Thread(target=mail.serve_forever, daemon=True).start()
http.server.ThreadingHTTPServer(("127.0.0.1", 8025), Webhook).serve_forever()
