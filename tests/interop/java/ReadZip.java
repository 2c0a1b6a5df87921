import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.util.List;
import java.util.stream.Collectors;

/** Prints "sha256  key" for every file of a zip archive, read through the JDK's zip file system (jdk.zipfs). */
public class ReadZip {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        try (FileSystem archive = FileSystems.newFileSystem(Path.of(arguments[0]), (ClassLoader) null)) {
            Path root = archive.getPath("/");
            List<Path> files = Files.walk(root).filter(Files::isRegularFile).collect(Collectors.toList());
            for (Path file : files) {
                out.println(sha256(file) + "  " + root.relativize(file));
            }
        }
    }

    private static String sha256(Path file) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        try (InputStream stream = new DigestInputStream(Files.newInputStream(file), digest)) {
            stream.transferTo(OutputStream.nullOutputStream());
        }
        return String.format("%064x", new BigInteger(1, digest.digest()));
    }
}
